/** What goes over a live stream, on SSE and WebSocket alike; the names are those that today's clients read. */
import { type Cursor, encodeCursor, shortLogId } from "../inbox/cursor.ts";
import { summaryView } from "../inbox/event-view.ts";
import { sha256Hex } from "../lib/hmac.ts";
import type { EventRow } from "../store/store.ts";
import type { Truncation } from "./feed.ts";

/**
 * Tells a client that keeps cursors whether it is still the same log, or logs: a single tenant's
 * cursor fits every log. Before the `@` it is the same for the same tenants, whatever token opens
 * them, and does not say whose they are; after it comes what another database would have otherwise.
 */
export const logIdOf = async (logId: string, tenants: readonly string[]): Promise<string> =>
  `${(await sha256Hex(JSON.stringify(tenants.toSorted()))).slice(0, 32)}@${shortLogId(logId)}`;

const bodies = new WeakMap<EventRow, string>();

/** Of an event, made once for however many followers. */
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

/** Every frame but `truncated` says from where to go on after it. */
export interface Wire {
  connected(log: string, cursor: Cursor, tenants: readonly string[]): string;
  event(event: EventRow, cursor: Cursor, tenants: readonly string[]): string;
  truncated(tenant: string, why: Truncation): string;
  heartbeat(now: number, cursor: Cursor, tenants: readonly string[]): string;
}

const frames = new WeakMap<EventRow, string>();

export const sseWire: Wire = {
  connected: (log, ...at) =>
    `id: ${encodeCursor(...at)}\ndata: ${socketWire.connected(log, ...at)}\n\n`,
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
  truncated: (...what) => `event: truncated\ndata: ${socketWire.truncated(...what)}\n\n`,
  heartbeat: (now, ...at) =>
    `id: ${encodeCursor(...at)}\ndata: ${socketWire.heartbeat(now, ...at)}\n\n`,
};

export const socketWire: Wire = {
  connected: (log, ...at) =>
    JSON.stringify({ status: "connected", cursor: encodeCursor(...at), log }),
  event: (event, ...at) =>
    `${bodyOf(event).slice(0, -1)},"cursor":${JSON.stringify(encodeCursor(...at))}}`,
  truncated: (tenant, why) =>
    JSON.stringify({ truncated: true, tenant, reason: why, detail: truncation[why] }),
  heartbeat: (now, ...at) => JSON.stringify({ heartbeat: now, cursor: encodeCursor(...at) }),
};

const truncation: Record<Truncation, string> = {
  pruned: "Events after your cursor have been removed by retention; what is left follows.",
  ahead:
    "Your cursor is ahead of the log, or of another one: it was wiped or restored from a backup; what comes from now on follows.",
};
