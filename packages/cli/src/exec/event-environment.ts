/** The environment of a command: the event's summary in `SIGNALBOX_…` variables. */
import type { EventSummary } from "@signalbox/contract/events.ts";
import { truncate } from "@signalbox/rules/truncate.ts";
import { plainText } from "./last-line.ts";

/** The fields of a claimed event that `signalbox exec` reads. */
export interface ClaimedEvent
  extends Omit<EventSummary, "processed" | "trigger_status" | "last_triggered_at" | "seq"> {
  attempts: number;
}

type Environment = Record<string, string | undefined>;

/**
 * Longer values are truncated, because they could exceed the limit of the operating system. stdin has the
 * whole values.
 */
const MAX_LENGTH = 4_096;

/**
 * Matches the variables of Signalbox that contain secrets. Events contain untrusted text, so the commands
 * must not inherit these variables.
 */
const SECRET_NAME = /^SIGNALBOX_(TOKEN|KEY|.*_SECRET)$/;

export function eventEnvironment(
  event: ClaimedEvent,
  hubUrl: string,
  inherited: Environment,
): Environment {
  const withoutSecrets = Object.entries(inherited).filter(([name]) => !SECRET_NAME.test(name));
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
  const eventVariables = Object.entries(fields).map(([name, value]) => [
    `SIGNALBOX_EVENT_${name}`,
    value === null ? undefined : truncate(plainText(String(value)), MAX_LENGTH),
  ]);
  return {
    ...Object.fromEntries(withoutSecrets),
    ...Object.fromEntries(eventVariables),
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
