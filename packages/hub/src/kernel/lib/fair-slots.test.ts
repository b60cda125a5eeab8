import { expect, test } from "vitest";
import { createFairSlots, type Release } from "./fair-slots.ts";

function open(capacity: number) {
  const state = { free: 0 };
  const slots = createFairSlots({ capacity, onFree: () => (state.free += 1) });
  const granted: { name: string; release: Release }[] = [];
  const wait = (name: string, path: readonly string[]) =>
    slots.wait(path, (release) => granted.push({ name, release }));
  /** Takes slots for a path until it has no room. */
  const fill = (path: readonly string[]) => {
    const releases: Release[] = [];
    for (let next = slots.tryAcquire(path); next; next = slots.tryAcquire(path))
      releases.push(next);
    return releases;
  };
  return { slots, state, granted, wait, fill, names: () => granted.map(({ name }) => name) };
}

test("grants a slot to each group in turn, and within a group first in, first out", () => {
  const { wait, fill, granted, names } = open(5);
  const held = [...fill(["x"]), ...fill(["y"])];
  for (let index = 0; index < 4; index += 1) wait(`a${index}`, ["a", "app", "flow"]);
  wait("b0", ["b", "app", "flow"]);
  wait("c0", ["c", "app", "one"]);
  wait("c1", ["c", "app", "one"]);
  wait("c2", ["c", "app", "two"]);
  for (const release of held) release();
  for (let index = 0; index < granted.length; index += 1) granted[index]?.release();
  expect(names()).toHaveLength(8);
  expect(names().indexOf("b0")).toBeLessThan(names().indexOf("a1"));
  expect(names().indexOf("c2")).toBeLessThan(names().indexOf("c1"));
  expect(names().filter((name) => name.startsWith("a"))).toEqual(["a0", "a1", "a2", "a3"]);
});

test("grants a newcomer a slot while a group that has its share waits", () => {
  const { slots, wait, fill, names } = open(20);
  fill(["flood", "app", "flow"]);
  wait("flood", ["flood", "app", "flow"]);
  expect(names()).toEqual([]);
  for (const path of [["flood", "app", "other"], ["flood", "other"], ["calm"]])
    expect(slots.tryAcquire(path)).toBeDefined();
  expect(slots.tryAcquire(["flood", "app", "flow"])).toBeUndefined();
});

test("does not let a newcomer of a group overtake its callers that wait", () => {
  const { slots, wait, fill, names } = open(4);
  const held = fill(["a"]);
  wait("first", ["a"]);
  held[0]?.();
  expect(names()).toEqual(["first"]);
  wait("second", ["a"]);
  expect(slots.tryAcquire(["a"])).toBeUndefined();
});

test("removes a caller from the queue, also when others of its group came and went", () => {
  const { slots, wait, fill, names } = open(4);
  const held = fill(["a"]);
  const leave = wait("first", ["a", "app"]);
  leave();
  leave();
  const leaveSecond = wait("second", ["a", "app"]);
  leave();
  expect([slots.waiting, slots.listWaiting()]).toEqual([1, [{ path: ["a", "app"], count: 1 }]]);
  for (const release of held) release();
  expect(names()).toEqual(["second"]);
  leaveSecond();
  expect([slots.waiting, slots.listWaiting()]).toEqual([0, []]);
});

test("reports a free slot only if no caller can have it", () => {
  const { state, wait, fill } = open(4);
  const held = fill(["a"]);
  wait("b", ["a"]);
  held[0]?.();
  held[0]?.();
  const afterGrant = state.free;
  held[1]?.();
  expect(state.free).toBe(afterGrant + 1);
});
