/** Pages of events as one list that is patched in place: rows never move by themselves. */
import type { EventItem, Page } from "../api/types.ts";
import { day, dayKey } from "../ui/format.ts";

export interface Pages {
  pages: Page<EventItem>[];
  pageParams: unknown[];
}

/** The newest page of the list, compared with what is shown. */
export interface Fresh {
  pages: Pages;
  /** How many events are newer than the shown ones. */
  added: number;
}

const itemsOf = ({ pages }: Pages): EventItem[] => pages.flatMap(({ items }) => items);

/** Replaces shown events by their newer state, and counts the new ones without showing them. */
export function mergeNewest(shown: Pages, newest: Page<EventItem>): Fresh {
  const byId = new Map(newest.items.map((item) => [item.id, item]));
  const head = itemsOf(shown).reduce((seq, item) => Math.max(seq, item.seq), 0);
  return {
    pages: patch(shown, (item) => byId.get(item.id) ?? item),
    added: newest.items.filter(({ seq }) => seq > head).length,
  };
}

/** Keeps pages and items that do not change, so that only changed rows are drawn again. */
export function patch(shown: Pages, change: (item: EventItem) => EventItem): Pages {
  let isChanged = false;
  const pages = shown.pages.map((page) => {
    let isPageChanged = false;
    const items = page.items.map((item) => {
      const next = change(item);
      if (next === item || isSame(next, item)) return item;
      isPageChanged = true;
      return next;
    });
    isChanged ||= isPageChanged;
    return isPageChanged ? { ...page, items } : page;
  });
  return isChanged ? { ...shown, pages } : shown;
}

const isSame = (a: EventItem, b: EventItem) =>
  a.outcome === b.outcome && a.processed === b.processed && a.claimed_by === b.claimed_by;

export type ListRow =
  | { kind: "day"; key: string; name: string }
  | { kind: "event"; event: EventItem };

/** The length of `2026-11-15T12:3`. */
const TEN_MINUTES = 15;

/** The rows with a heading for each day. */
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
