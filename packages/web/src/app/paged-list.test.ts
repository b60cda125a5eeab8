import { describe, expect, it } from "vitest";
import { type ItemOrder, mergeNewest, type Pages, patch, syncNewest } from "./paged-list.ts";

interface Item {
  id: string;
  seq: number;
  outcome: string;
}
const item = (seq: number, outcome = "unmatched"): Item => ({ id: `e${seq}`, seq, outcome });
const LIST: ItemOrder<Item> = {
  orderOf: ({ seq }) => seq,
  isSame: (a, b) => a.outcome === b.outcome,
};
const pagesOf = (...pages: Item[][]): Pages<Item> => ({
  pages: pages.map((items) => ({ items, next_cursor: null })),
  pageParams: [],
});
const page = (...items: Item[]) => ({ items, next_cursor: null });

describe("mergeNewest", () => {
  const shown = pagesOf([item(4), item(3)], [item(2), item(1)]);

  it("counts new items without adding them", () => {
    const { pages, added } = mergeNewest(LIST, shown, page(item(6), item(5), item(4)));
    expect(added).toBe(2);
    expect(pages).toBe(shown);
  });

  it("replaces only the items whose state has changed", () => {
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

describe("syncNewest", () => {
  const shown = pagesOf([item(4), item(3)], [item(2), item(1)]);
  const seqs = ({ pages }: Pages<Item>) => pages.map(({ items }) => items.map(({ seq }) => seq));

  it("removes rows that the newest page no longer has, and adds those that came back", () => {
    const { pages, added } = syncNewest(LIST, shown, page(item(6), item(4), item(2)));
    expect([seqs(pages), added]).toEqual([[[4, 2], []], 1]);
    expect(pages.pages[0]?.items[0]).toBe(shown.pages[0]?.items[0]);
    const back = syncNewest(LIST, pages, page(item(6), item(4), item(3), item(2)));
    expect(seqs(back.pages)).toEqual([[4, 3, 2], []]);
  });

  it("keeps rows that the newest page does not reach", () => {
    const newest = { ...page(item(3, "failed")), next_cursor: "3" };
    expect(seqs(syncNewest(LIST, shown, newest).pages)).toEqual([[3], [2, 1]]);
    expect(syncNewest(LIST, shown, newest).pages.pages[0]?.items[0]?.outcome).toBe("failed");
    expect(syncNewest(LIST, shown, { ...page(), next_cursor: "4" }).pages).toBe(shown);
  });

  it("returns the same pages if the newest page has the same items, and removes all items if it is empty", () => {
    const newest = page(item(4), item(3), item(2), item(1));
    expect(syncNewest(LIST, shown, newest).pages).toBe(shown);
    expect(seqs(syncNewest(LIST, shown, page()).pages)).toEqual([[], []]);
  });

  it("counts all items as new for an empty list", () =>
    expect(syncNewest(LIST, pagesOf([]), page(item(1)))).toEqual({
      pages: pagesOf([]),
      added: 1,
    }));
});

it("returns the same pages from `patch` if no item looks different", () => {
  const shown = pagesOf([item(1)]);
  expect(patch(shown, LIST.isSame, (each) => ({ ...each }))).toBe(shown);
});
