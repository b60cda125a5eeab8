/** The rows of the list: events with a heading for each day. */
import type { EventItem } from "../api/types.ts";
import { day, dayKey } from "../ui/format.ts";

export type ListRow =
  | { kind: "day"; key: string; name: string }
  | { kind: "event"; event: EventItem };

/** The length of `2026-11-15T12:3`. */
const TEN_MINUTES = 15;

export function toListRows(events: readonly EventItem[], now: Date): ListRow[] {
  const rows: ListRow[] = [];
  let last = "";
  let lastTime = "";
  for (const event of events) {
    // Times within ten minutes are of one day in every time zone; a date costs more than a comparison.
    const time = event.received_at.slice(0, TEN_MINUTES);
    const key: string = time === lastTime ? last : dayKey(event.received_at);
    lastTime = time;
    if (key !== last) rows.push({ kind: "day", key, name: day(event.received_at, now) });
    last = key;
    rows.push({ kind: "event", event });
  }
  return rows;
}
