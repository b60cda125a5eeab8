/** The rows of the list: events with a heading for each day. */
import type { EventItem } from "@signalbox/contract";
import { day, dayKey } from "../ui/format.ts";

export type ListRow =
  | { kind: "day"; key: string; name: string }
  | { kind: "event"; event: EventItem };

/** The length of `2026-11-15T12:34`: a timestamp to the minute. */
const MINUTE_LENGTH = 16;

export function toListRows(events: readonly EventItem[], now: Date): ListRow[] {
  const rows: ListRow[] = [];
  let previousDay = "";
  let previousMinute = "";
  for (const event of events) {
    // Comparing text is faster than creating a date. In every time zone, a day begins with a minute,
    // so events of the same minute have the same day.
    const minute = event.received_at.slice(0, MINUTE_LENGTH);
    const key: string = minute === previousMinute ? previousDay : dayKey(event.received_at);
    if (key !== previousDay) rows.push({ kind: "day", key, name: day(event.received_at, now) });
    previousMinute = minute;
    previousDay = key;
    rows.push({ kind: "event", event });
  }
  return rows;
}
