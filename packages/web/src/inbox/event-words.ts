/** The texts that the inbox shows for an event, its type, and the outcome of its runs. */

import type { EventItem } from "@signalbox/contract";
import type { Signal } from "../ui/signal-head.tsx";

/** Appends the action to the type, as in `issues.opened`, unless the type already ends with it. */
export const typeOf = ({ type, action }: Pick<EventItem, "type" | "action">): string =>
  !action || type === action || type.endsWith(`.${action}`) || type.endsWith(`_${action}`)
    ? type
    : `${type}.${action}`;

export const titleOf = (event: Pick<EventItem, "title" | "type" | "action">): string =>
  event.title?.trim() || typeOf(event);

/** Returns the repository and the sender, as in `octocat/hello-world · octocat`. */
export const originOf = ({ repo, sender }: Pick<EventItem, "repo" | "sender">): string =>
  [repo, sender].filter(Boolean).join(" · ");

const OUTCOMES: Record<EventItem["outcome"], Signal> = {
  unmatched: { aspect: "none", label: "no trigger matched" },
  matching: { aspect: "lunar", label: "waits for filters" },
  pending: { aspect: "lunar", label: "run queued" },
  running: { aspect: "lunar", label: "run under way" },
  succeeded: { aspect: "green", label: "run done" },
  failed: { aspect: "red", label: "run failed" },
};
export const signalOfOutcome = (outcome: EventItem["outcome"]): Signal => OUTCOMES[outcome];
