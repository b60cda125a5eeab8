import { expect, it } from "vitest";
import { findEvictable } from "./fair-share.ts";

/**
 * Returns the index of the item to evict. Each item is written as "owner" or "owner idle". The items
 * are sorted from the least to the most recently used.
 */
const evictFor = (owner: string, items: string[]) =>
  findEvictable(
    items.map((text, index) => ({
      index,
      owner: text.split(" ")[0] ?? "",
      idle: text.endsWith("idle"),
    })),
    { owner, ownerOf: (item) => item.owner, isIdle: ({ idle }) => idle },
  )?.index;

it("evicts an item of the largest owner, preferably an idle one", () => {
  expect(evictFor("acme", ["umbrella", "umbrella idle", "umbrella"])).toBe(1);
  expect(evictFor("acme", ["umbrella", "umbrella"])).toBe(0);
  expect(evictFor("acme", ["acme idle", "umbrella", "umbrella", "umbrella"])).toBe(1);
});

it("evicts only idle items of the requesting owner if no owner has more items", () => {
  expect(evictFor("umbrella", ["acme idle", "umbrella", "umbrella idle"])).toBe(2);
  expect(evictFor("umbrella", ["acme idle", "umbrella", "umbrella"])).toBeUndefined();
  expect(evictFor("acme", ["acme", "umbrella idle"])).toBeUndefined();
});

it("evicts only idle items if the largest owner has one item more", () => {
  expect(evictFor("acme", ["umbrella"])).toBeUndefined();
  expect(evictFor("acme", ["umbrella idle"])).toBe(0);
});
