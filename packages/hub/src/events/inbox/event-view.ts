/** Events as the API and the MCP tools return them. */
import type {
  EventItem,
  EventOutcome,
  EventSummary,
  InboxStatus,
  StoredEvent,
} from "@signalbox/contract/events.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { concat, utf8 } from "../../kernel/lib/bytes.ts";
import type { EventRow, PendingStatus } from "../model.ts";

const iso = (ms: number) => new Date(ms).toISOString();
const isoOrNull = (ms: number | null) => (ms === null ? null : iso(ms));

export function summaryView(event: EventRow): EventSummary {
  const summary = plainSummary(event);
  // Most events have no check result, and a spread is slow.
  return event.check_result ? { ...summary, ...event.check_result } : summary;
}

const plainSummary = (event: EventRow): EventSummary => ({
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

export const outcomeOf = ({ trigger_status }: Pick<EventRow, "trigger_status">): EventOutcome =>
  trigger_status ?? "unmatched";

export const itemView = (event: EventRow): EventItem => ({
  ...summaryView(event),
  source_id: event.source_id,
  outcome: outcomeOf(event),
  claimed_by: event.claimed_by,
  claimed_until: isoOrNull(event.claimed_until),
  size: event.size,
});

export const eventView = (event: EventRow, payload: Json): StoredEvent => ({
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
export type ClaimedView = StoredEvent & EventSummary;

export const claimedView = (event: EventRow, payload: Json): ClaimedView => ({
  ...eventView(event, payload),
  ...summaryView(event),
});

/** JSON as text or, if it is large, as bytes. */
export type JsonBody = string | Uint8Array<ArrayBuffer>;

/** Serializes `view`, but copies the JSON of its payload from `payload`: to stringify it would be slow. */
export function serializeEvent(view: StoredEvent, payload: string | Uint8Array): JsonBody {
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

export const statusView = (status: PendingStatus): InboxStatus => ({
  ...status,
  latest_received_at: isoOrNull(status.latest_received_at),
});
