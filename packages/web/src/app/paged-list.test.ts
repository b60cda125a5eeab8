import { describe, expect, it } from "vitest";
import { type ListOf, mergeNewest, type Pages, patch } from "./paged-list.ts";

interface Item {
  id: string;
  seq: number;
  outcome: string;
}
const item = (seq: number, outcome = "unmatched"): Item => ({ id: `e${seq}`, seq, outcome });
const LIST: ListOf<Item> = { orderOf: ({ seq }) => seq, isSame: (a, b) => a.outcome === b.outcome };
const pagesOf = (...pages: Item[][]): Pages<Item> => ({
  pages: pages.map((items) => ({ items, next_cursor: null })),
  pageParams: [],
});
const page = (...items: Item[]) => ({ items, next_cursor: null });

describe("mergeNewest", () => {
  const shown = pagesOf([item(4), item(3)], [item(2), item(1)]);

  it("counts new items, and shows none of them", () => {
    const { pages, added } = mergeNewest(LIST, shown, page(item(6), item(5), item(4)));
    expect(added).toBe(2);
    expect(pages).toBe(shown);
  });

  it("changes only the rows whose state has changed", () => {
    const { pages } = mergeNewest(LIST, shown, page(item(3, "running")));
    expect(pages.pages[0]?.items.map(({ outcome }) => outcome)).toEqual(["unmatched", "running"]);
    expect(pages.pages[0]?.items[0]).toBe(shown.pages[0]?.items[0]);
    expect(pages.pages[1]).toBe(shown.pages[1]);
  });

  it("counts all items as new for an empty list", () => {
    expect(mergeNewest(LIST, pagesOf([]), page(item(1))).added).toBe(1);
    expect(mergeNewest(LIST, pagesOf([], [item(1)]), page(item(1))).added).toBe(0);
  });
});

it("patches nothing if nothing changes", () => {
  const shown = pagesOf([item(1)]);
  expect(patch(shown, LIST.isSame, (each) => ({ ...each }))).toBe(shown);
});
