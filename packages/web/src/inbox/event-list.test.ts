import { describe, expect, it } from "vitest";
import type { EventItem } from "../api/types.ts";
import { mergeNewest, type Pages, patch, toListRows } from "./event-list.ts";

const event = (seq: number, more: Partial<EventItem> = {}) =>
  ({
    id: `e${seq}`,
    seq,
    outcome: "unmatched",
    processed: false,
    received_at: new Date(2026, 10, 15, 12, seq).toISOString(),
    ...more,
  }) as EventItem;
const pagesOf = (...pages: EventItem[][]): Pages => ({
  pages: pages.map((items) => ({ items, next_cursor: null })),
  pageParams: [],
});

describe("mergeNewest", () => {
  const shown = pagesOf([event(4), event(3)], [event(2), event(1)]);

  it("counts new events, and shows none of them", () => {
    const { pages, added } = mergeNewest(shown, {
      items: [event(6), event(5), event(4)],
      next_cursor: null,
    });
    expect(added).toBe(2);
    expect(pages).toBe(shown);
  });

  it("changes only the rows whose state has changed", () => {
    const { pages } = mergeNewest(shown, {
      items: [event(3, { outcome: "running" })],
      next_cursor: null,
    });
    expect(pages.pages[0]?.items.map(({ outcome }) => outcome)).toEqual(["unmatched", "running"]);
    expect(pages.pages[0]?.items[0]).toBe(shown.pages[0]?.items[0]);
    expect(pages.pages[1]).toBe(shown.pages[1]);
  });

  it("counts all events as new for an empty list", () => {
    expect(mergeNewest(pagesOf([]), { items: [event(1)], next_cursor: null }).added).toBe(1);
  });
});

it("patches nothing if nothing changes", () => {
  const shown = pagesOf([event(1)]);
  expect(patch(shown, (item) => ({ ...item }))).toBe(shown);
});

it("puts a heading before each day", () => {
  const rows = toListRows(
    [event(2), event(1), event(0, { received_at: new Date(2026, 10, 14).toISOString() })],
    new Date(2026, 10, 15, 20),
  );
  expect(rows.map((row) => (row.kind === "day" ? row.name : row.event.seq))).toEqual([
    "Today, Sunday 15 November",
    2,
    1,
    "Yesterday, Saturday 14 November",
    0,
  ]);
});
