/** Events as the API and the MCP tools return them. */
import type { Json } from "@signalbox/rules/json.ts";
import { concat, utf8 } from "../../kernel/lib/bytes.ts";
import type { CheckResult, EventRow, PendingStatus } from "../model.ts";

const iso = (ms: number) => new Date(ms).toISOString();
const isoOrNull = (ms: number | null) => (ms === null ? null : iso(ms));

/** It has the fields of `CheckResult` only if the event is about a check or a workflow. */
export interface SummaryView extends Partial<CheckResult> {
  id: string;
  type: string;
  received_at: string;
  processed: boolean;
  trigger_status: string | null;
  last_triggered_at: string | null;
  action: string | null;
  repo: string | null;
  sender: string | null;
  number: number | null;
  title: string | null;
  url: string | null;
  source: string;
  seq: number;
}

export function summaryView(event: EventRow): SummaryView {
  const summary = plainSummary(event);
  // Most events have no check result, and a spread is slow.
  return event.check_result ? { ...summary, ...event.check_result } : summary;
}

const plainSummary = (event: EventRow): SummaryView => ({
  id: event.id,
  type: event.type,
  received_at: iso(event.received_at),
  processed: event.processed,
  trigger_status: event.trigger_status,
  last_triggered_at: isoOrNull(event.last_triggered_at),
  action: event.action,
  repo: event.repo,
  sender: event.sender,
  number: event.number,
  title: event.title,
  url: event.url,
  source: event.source,
  seq: event.seq,
});

/**
 * The state of the runs that the event started; `unmatched` if it started none, `matching` if the hub has
 * not compared it with all triggers yet.
 */
export const EVENT_OUTCOMES = [
  "unmatched",
  "matching",
  "pending",
  "running",
  "succeeded",
  "failed",
] as const;
export type EventOutcome = (typeof EVENT_OUTCOMES)[number];

export const outcomeOf = ({ trigger_status }: Pick<EventRow, "trigger_status">): EventOutcome =>
  trigger_status ?? "unmatched";

/** A summary with the state of the event, for the lists of the web UI. */
export type ItemView = SummaryView &
  Pick<EventView, "outcome" | "claimed_by" | "claimed_until"> &
  Pick<EventRow, "source_id" | "size">;

export const itemView = (event: EventRow): ItemView => ({
  ...summaryView(event),
  source_id: event.source_id,
  outcome: outcomeOf(event),
  claimed_by: event.claimed_by,
  claimed_until: isoOrNull(event.claimed_until),
  size: event.size,
});

/** Returns, for example, `github.issues opened`. Types of Stripe already contain the action. */
export const eventName = ({
  source,
  type,
  action,
}: Pick<SummaryView, "source" | "type" | "action">): string =>
  action === null || type.endsWith(action) ? `${source}.${type}` : `${source}.${type} ${action}`;

export interface EventView {
  id: string;
  type: string;
  payload: Json;
  received_at: string;
  processed: boolean;
  trigger_status: string | null;
  last_triggered_at: string | null;
  source: string;
  external_id: string | null;
  seq: number;
  outcome: EventOutcome;
  claimed_by: string | null;
  claimed_until: string | null;
  attempts: number;
  processed_at: string | null;
  note: string | null;
}

export const eventView = (event: EventRow, payload: Json): EventView => ({
  id: event.id,
  type: event.type,
  payload,
  received_at: iso(event.received_at),
  processed: event.processed,
  trigger_status: event.trigger_status,
  last_triggered_at: isoOrNull(event.last_triggered_at),
  source: event.source,
  external_id: event.external_id,
  seq: event.seq,
  outcome: outcomeOf(event),
  claimed_by: event.claimed_by,
  claimed_until: isoOrNull(event.claimed_until),
  attempts: event.attempts,
  processed_at: isoOrNull(event.processed_at),
  note: event.note,
});

/** The event that a worker has claimed, with the fields of its summary. */
export type ClaimedView = EventView & SummaryView;

export const claimedView = (event: EventRow, payload: Json): ClaimedView => ({
  ...eventView(event, payload),
  ...summaryView(event),
});

/** JSON as text or, if it is large, as bytes. */
export type JsonBody = string | Uint8Array<ArrayBuffer>;

/** Serializes `view`, but copies the JSON of its payload from `payload`: to stringify it would be slow. */
export function serializeEvent(view: EventView, payload: string | Uint8Array): JsonBody {
  const { id, type, payload: _, ...fieldsAfterPayload } = view;
  const start = `${JSON.stringify({ id, type }).slice(0, -1)},"payload":`;
  const end = `,${JSON.stringify(fieldsAfterPayload).slice(1)}`;
  return joinJson([start, payload, end]);
}

export const serializeEvents = (events: readonly JsonBody[]): JsonBody =>
  joinJson(["[", ...events.flatMap((event, index) => (index === 0 ? [event] : [",", event])), "]"]);

const joinJson = (parts: readonly (string | Uint8Array)[]): JsonBody =>
  parts.every((part) => typeof part === "string")
    ? parts.join("")
    : concat(parts.map((part) => (typeof part === "string" ? utf8(part) : part)));

export interface StatusView {
  pending_count: number;
  latest_received_at: string | null;
  types: Record<string, number>;
}

export const statusView = (status: PendingStatus): StatusView => ({
  ...status,
  latest_received_at: isoOrNull(status.latest_received_at),
});
