import { expect, it } from "vitest";
import { mergePages } from "./merge-pages.ts";

const page = (ids: string, next: string | null = null) => ({
  items: [...ids].map((id) => ({ id })),
  next,
});
const merged = (limit: number, ...pages: ReturnType<typeof page>[]) => {
  const { items, next } = mergePages(pages, limit);
  return [items.map(({ id }) => id).join(""), next];
};

it("orders the items of all lists", () =>
  expect(merged(10, page("ea"), page("dcb"), page(""))).toEqual(["edcba", null]));

it("returns an item once that has moved from one list to another", () =>
  expect(merged(10, page("cb"), page("ba"))).toEqual(["cba", null]));

it("returns at most the limit, and continues after it", () =>
  expect(merged(2, page("ea"), page("dcb"))).toEqual(["ed", "d"]));

it("omits items that would precede unread items of another list", () => {
  expect(merged(3, page("zyx", "x"), page("wv"))).toEqual(["zyx", "x"]);
  // A page can be short, or empty, and still have a next one.
  expect(merged(3, page("", "m"), page("zca"))).toEqual(["z", "m"]);
});
