/** Encodes the messages of live streams for SSE and WebSocket. The field names are public. */

import type { StreamedEvent } from "@signalbox/contract/live.ts";
import { sha256Hex } from "../../kernel/lib/hmac.ts";
import { type Cursor, encodeCursor, shortLogId } from "../inbox/cursor.ts";
import { summaryView } from "../inbox/event-view.ts";
import type { EventRow } from "../model.ts";
import type { Truncation } from "./feed.ts";

/**
 * Returns the id of the logs that a stream reads, so that a client can check whether its stored cursor
 * belongs to these logs. The part before the `@` is a hash of the tenants; the part after it identifies the
 * database.
 */
export const streamLogId = async (logId: string, tenants: readonly string[]): Promise<string> =>
  `${(await sha256Hex(JSON.stringify(tenants.toSorted()))).slice(0, 32)}@${shortLogId(logId)}`;

/** Caches the JSON of events, so that each event is serialized once for all followers. */
const bodies = new WeakMap<EventRow, string>();

function bodyOf(event: EventRow): string {
  let body = bodies.get(event);
  if (body === undefined) {
    body = JSON.stringify({
      event_id: event.id,
      type: event.type,
      source: event.source,
      seq: event.seq,
      summary: summaryView(event),
    } satisfies StreamedEvent);
    bodies.set(event, body);
  }
  return body;
}

/** Every message except `truncated` contains the cursor from which the client can resume. */
export interface MessageEncoder {
  /** `logId` is the result of `streamLogId`. */
  connected(logId: string, cursor: Cursor, tenants: readonly string[]): string;
  event(event: EventRow, cursor: Cursor, tenants: readonly string[]): string;
  truncated(tenant: string, reason: Truncation): string;
  heartbeat(now: number, cursor: Cursor, tenants: readonly string[]): string;
}

/**
 * Caches the SSE frames of streams with one tenant. Their cursor is the `seq` of the event, so all
 * followers get the same frame.
 */
const frames = new WeakMap<EventRow, string>();

export const sseEncoder: MessageEncoder = {
  connected: (logId, ...position) =>
    `id: ${encodeCursor(...position)}\ndata: ${socketEncoder.connected(logId, ...position)}\n\n`,
  event(event, cursor, tenants) {
    if (tenants.length > 1)
      return `id: ${encodeCursor(cursor, tenants)}\ndata: ${bodyOf(event)}\n\n`;
    let frame = frames.get(event);
    if (frame === undefined) {
      frame = `id: ${event.seq}\ndata: ${bodyOf(event)}\n\n`;
      frames.set(event, frame);
    }
    return frame;
  },
  truncated: (...args) => `event: truncated\ndata: ${socketEncoder.truncated(...args)}\n\n`,
  heartbeat: (now, ...position) =>
    `id: ${encodeCursor(...position)}\ndata: ${socketEncoder.heartbeat(now, ...position)}\n\n`,
};

export const socketEncoder: MessageEncoder = {
  connected: (logId, ...position) =>
    JSON.stringify({ status: "connected", cursor: encodeCursor(...position), log: logId }),
  event: (event, ...position) =>
    `${bodyOf(event).slice(0, -1)},"cursor":${JSON.stringify(encodeCursor(...position))}}`,
  truncated: (tenant, reason) =>
    JSON.stringify({ truncated: true, tenant, reason, detail: DETAILS[reason] }),
  heartbeat: (now, ...position) =>
    JSON.stringify({ heartbeat: now, cursor: encodeCursor(...position) }),
};

const DETAILS: Record<Truncation, string> = {
  pruned: "Retention has removed events after your cursor; the remaining events follow.",
  ahead:
    "The log has lost events before your cursor: the database was wiped, replaced or restored from a backup, or has failed over to a standby without the newest events. Only new events follow.",
};
