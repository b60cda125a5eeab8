/** What goes over a live stream, on SSE and WebSocket alike; the names are those that today's clients read. */
import { encodeCursor } from "../inbox/cursor.ts";
import { summaryView } from "../inbox/event-view.ts";
import type { EventRow } from "../store/store.ts";

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

export interface Wire {
  connected(): string;
  event(event: EventRow, cursor: ReadonlyMap<string, number>, tenants: readonly string[]): string;
  truncated(tenant: string): string;
  heartbeat(now: number): string;
}

const frames = new WeakMap<EventRow, string>();

export const sseWire: Wire = {
  connected: () => 'data: {"status":"connected"}\n\n',
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
  truncated: (tenant) => `event: truncated\ndata: ${truncation(tenant)}\n\n`,
  heartbeat: (now) => `data: {"heartbeat":${now}}\n\n`,
};

export const socketWire: Wire = {
  connected: () => '{"status":"connected"}',
  event: (event, cursor, tenants) =>
    `${bodyOf(event).slice(0, -1)},"cursor":${JSON.stringify(encodeCursor(cursor, tenants))}}`,
  truncated: truncation,
  heartbeat: (now) => `{"heartbeat":${now}}`,
};

function truncation(tenant: string): string {
  return JSON.stringify({
    truncated: true,
    tenant,
    detail: "Events after your cursor have been removed by retention; what is left follows.",
  });
}
