/** The environment of a command: the event's summary in `SIGNALBOX_…` variables. */
import type { SummaryView } from "../../../inbox/event-view.ts";
import { truncate } from "../../../lib/truncate.ts";
import { plainText } from "./last-line.ts";

/** The fields of a claimed event that `signalbox exec` reads. */
export interface ClaimedEvent
  extends Omit<SummaryView, "processed" | "trigger_status" | "last_triggered_at" | "seq"> {
  attempts: number;
}

type Environment = Record<string, string | undefined>;

/** Longer values could exceed the limit of the operating system; stdin has them in full. */
const MAX_LENGTH = 4_096;

/** The hub's secrets. Events contain text of strangers, so their commands must not inherit these. */
const SECRET = /^SIGNALBOX_(TOKEN|KEY|.*_SECRET)$/;

export function eventEnvironment(
  event: ClaimedEvent,
  hubUrl: string,
  inherited: Environment,
): Environment {
  const kept = Object.entries(inherited).filter(([name]) => !SECRET.test(name));
  const fields = {
    ID: event.id,
    TYPE: event.type,
    ACTION: event.action,
    REPO: event.repo,
    NUMBER: event.number,
    TITLE: event.title,
    URL: event.url,
    SENDER: event.sender,
    SOURCE: event.source,
    RECEIVED_AT: event.received_at,
    CONCLUSION: event.conclusion ?? null,
    HEAD_BRANCH: event.head_branch ?? null,
    HEAD_SHA: event.head_sha ?? null,
  };
  const set = Object.entries(fields).map(([name, value]) => [
    `SIGNALBOX_EVENT_${name}`,
    value === null ? undefined : truncate(plainText(String(value)), MAX_LENGTH),
  ]);
  return {
    ...Object.fromEntries(kept),
    ...Object.fromEntries(set),
    SIGNALBOX_ATTEMPT: String(event.attempts),
    SIGNALBOX_URL: hubUrl,
  };
}

/** Identifies an event in the output: `issues opened octo/town#7`. */
export function labelOf({
  type,
  action,
  repo,
  number,
}: Pick<ClaimedEvent, "type" | "action" | "repo" | "number">): string {
  const subject = `${repo ?? ""}${number === null ? "" : `#${number}`}`;
  return truncate(plainText([type, action, subject].filter(Boolean).join(" ")), 120);
}
