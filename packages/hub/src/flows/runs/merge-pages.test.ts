import { expect, it } from "vitest";
import { mergePages } from "./merge-pages.ts";

const page = (ids: string, next: string | null = null) => ({
  items: [...ids].map((id) => ({ id })),
  next,
});
const merge = (limit: number, ...pages: ReturnType<typeof page>[]) => {
  const { items, next } = mergePages(pages, limit);
  return [items.map(({ id }) => id).join(""), next];
};

it("orders the items of all lists", () =>
  expect(merge(10, page("ea"), page("dcb"), page(""))).toEqual(["edcba", null]));

it("returns an item that is in two lists only once", () =>
  expect(merge(10, page("cb"), page("ba"))).toEqual(["cba", null]));

it("returns at most `limit` items, and the cursor of the next page", () =>
  expect(merge(2, page("ea"), page("dcb"))).toEqual(["ed", "d"]));

it("omits items that would precede unread items of another list", () => {
  expect(merge(3, page("zyx", "x"), page("wv"))).toEqual(["zyx", "x"]);
  // A page can be short or empty although another page follows.
  expect(merge(3, page("", "m"), page("zca"))).toEqual(["z", "m"]);
});
