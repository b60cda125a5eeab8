import { expect, it } from "vitest";
import { findEvictable } from "./fair-share.ts";

/** Items as "owner" or "owner idle", from the least to the most recently used. */
const endFor = (owner: string, items: string[]) =>
  findEvictable(
    items.map((text, at) => ({ at, owner: text.split(" ")[0] ?? "", idle: text.endsWith("idle") })),
    { owner, ownerOf: (item) => item.owner, isIdle: ({ idle }) => idle },
  )?.at;

it("takes an item of the largest owner, an idle one first", () => {
  expect(endFor("acme", ["umbrella", "umbrella idle", "umbrella"])).toBe(1);
  expect(endFor("acme", ["umbrella", "umbrella"])).toBe(0);
  expect(endFor("acme", ["acme idle", "umbrella", "umbrella", "umbrella"])).toBe(1);
});

it("takes an idle item of its own if no owner has more", () => {
  expect(endFor("umbrella", ["acme idle", "umbrella", "umbrella idle"])).toBe(2);
  expect(endFor("umbrella", ["acme idle", "umbrella", "umbrella"])).toBeUndefined();
});

it("takes only idle items if the shares are even", () => {
  expect(endFor("acme", ["umbrella"])).toBeUndefined();
  expect(endFor("acme", ["umbrella idle"])).toBe(0);
  expect(endFor("acme", ["acme", "umbrella idle"])).toBeUndefined();
});
