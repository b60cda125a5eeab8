/** The messages of a live stream, for SSE and WebSocket. Existing clients read these field names. */
import { type Cursor, encodeCursor, shortLogId } from "../inbox/cursor.ts";
import { summaryView } from "../inbox/event-view.ts";
import { sha256Hex } from "../lib/hmac.ts";
import type { EventRow } from "../store/store.ts";
import type { Truncation } from "./feed.ts";

/**
 * Identifies the logs of a stream, so that a client can tell whether its stored cursor belongs to
 * them. The part before the `@` is a hash of the tenants, the same for every token; the part after it
 * identifies the database.
 */
export const logIdOf = async (logId: string, tenants: readonly string[]): Promise<string> =>
  `${(await sha256Hex(JSON.stringify(tenants.toSorted()))).slice(0, 32)}@${shortLogId(logId)}`;

const bodies = new WeakMap<EventRow, string>();

/** The JSON of an event, serialized once for all followers. */
function bodyOf(event: EventRow): string {
  let body = bodies.get(event);
  if (body === undefined) {
    body = JSON.stringify({
      event_id: event.id,
      type: event.type,
      source: event.source,
      seq: event.seq,
      summary: summaryView(event),
    });
    bodies.set(event, body);
  }
  return body;
}

/** Every message except `truncated` carries the cursor to resume from. */
export interface Wire {
  connected(log: string, cursor: Cursor, tenants: readonly string[]): string;
  event(event: EventRow, cursor: Cursor, tenants: readonly string[]): string;
  truncated(tenant: string, reason: Truncation): string;
  heartbeat(now: number, cursor: Cursor, tenants: readonly string[]): string;
}

const frames = new WeakMap<EventRow, string>();

export const sseWire: Wire = {
  connected: (log, ...position) =>
    `id: ${encodeCursor(...position)}\ndata: ${socketWire.connected(log, ...position)}\n\n`,
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
  truncated: (...args) => `event: truncated\ndata: ${socketWire.truncated(...args)}\n\n`,
  heartbeat: (now, ...position) =>
    `id: ${encodeCursor(...position)}\ndata: ${socketWire.heartbeat(now, ...position)}\n\n`,
};

export const socketWire: Wire = {
  connected: (log, ...position) =>
    JSON.stringify({ status: "connected", cursor: encodeCursor(...position), log }),
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
    "Your cursor is ahead of the log: the database was wiped, replaced or restored from a backup; only new events follow.",
};
