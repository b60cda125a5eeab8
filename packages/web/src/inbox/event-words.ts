/** How the inbox names an event, its type and the state of its runs. */

import type { EventItem } from "../api/types.ts";
import type { Aspect } from "../ui/signal-head.tsx";

/** `issues.opened`; types that end with the action keep their own form. */
export const typeOf = ({ type, action }: Pick<EventItem, "type" | "action">): string =>
  !action || type === action || type.endsWith(`.${action}`) || type.endsWith(`_${action}`)
    ? type
    : `${type}.${action}`;

export const titleOf = (event: Pick<EventItem, "title" | "type" | "action">): string =>
  event.title?.trim() || typeOf(event);

/** `octocat/hello-world · octocat` */
export const originOf = ({ repo, sender }: Pick<EventItem, "repo" | "sender">): string =>
  [repo, sender].filter(Boolean).join(" · ");

export interface Look {
  aspect: Aspect;
  label: string;
}

const OUTCOMES: Record<EventItem["outcome"], Look> = {
  unmatched: { aspect: "none", label: "no trigger matched" },
  pending: { aspect: "lunar", label: "run queued" },
  running: { aspect: "lunar", label: "run under way" },
  succeeded: { aspect: "green", label: "run done" },
  failed: { aspect: "red", label: "run failed" },
};
export const lookOfOutcome = (outcome: EventItem["outcome"]): Look => OUTCOMES[outcome];
