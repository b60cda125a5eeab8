import fc from "fast-check";
import { expect, test } from "vitest";
import { createShares } from "./shares.ts";

/** Takes one unit for the path, as long as it has room. Returns how many. */
function fill(shares: ReturnType<typeof createShares>, path: readonly string[]): number {
  let taken = 0;
  for (; shares.room(path) >= 1; taken += 1) shares.take(path, 1);
  return taken;
}

test("gives a single flow about half of the capacity", () => {
  const shares = createShares(100);
  const taken = fill(shares, ["a", "app", "flow"]);
  expect(taken).toBeGreaterThanOrEqual(50);
  expect(shares.free).toBeGreaterThanOrEqual(40);
});

test("leaves something to a new flow of the same app, a new app and a new tenant, in this order of size", () => {
  const shares = createShares(100);
  fill(shares, ["a", "app", "flow"]);
  const rooms = [
    shares.room(["a", "app", "other flow"]),
    shares.room(["a", "other app", "flow"]),
    shares.room(["b", "app", "flow"]),
  ];
  expect(Math.min(...rooms)).toBeGreaterThanOrEqual(1);
  expect(rooms).toEqual(rooms.toSorted((a, b) => a - b));
});

test("shrinks the shares of all groups when a group takes more", () => {
  const shares = createShares(100);
  const taken = ["a", "b", "c"].map((tenant) => {
    const releases: (() => void)[] = [];
    while (shares.room([tenant]) >= 1) releases.push(shares.take([tenant], 1));
    return releases;
  });
  expect(taken[0]?.length).toBeGreaterThan(taken[2]?.length ?? 0);
  // Once the first group has given back what it holds beyond its share, the groups hold the same.
  while (shares.room(["a"]) < 1) taken[0]?.pop()?.();
  for (let round = 0; round < 100; round += 1) {
    for (const tenant of ["b", "c"]) if (shares.room([tenant]) >= 1) shares.take([tenant], 1);
    while (shares.room(["a"]) < 0) taken[0]?.pop()?.();
  }
  expect(shares.free).toBeGreaterThanOrEqual(1);
});

test("counts groups without room, and gives back an amount once", () => {
  const shares = createShares(10);
  const giveBack = shares.take(["a", "app"], 8);
  expect([shares.countFull([], 1), shares.countFull(["a"], 1), shares.countFull(["b"], 1)]).toEqual(
    [1, 1, 0],
  );
  giveBack();
  giveBack();
  expect([shares.free, shares.countFull([], 1), shares.room(["a", "app"])]).toEqual([10, 0, 10]);
});

const operations = fc.array(
  fc.record({
    path: fc.tuple(
      fc.constantFrom("a", "b", "__proto__"),
      fc.constantFrom("x", "y"),
      fc.constantFrom("1", "2"),
    ),
    amount: fc.integer({ min: 1, max: 30 }),
    release: fc.boolean(),
  }),
  { maxLength: 60 },
);

test("counts exactly, also in drafts, and never leaves a newcomer without room", () => {
  fc.assert(
    fc.property(operations, (steps) => {
      const shares = createShares(1_000);
      const held: (() => void)[] = [];
      for (const { path, amount, release } of steps) {
        if (release) held.shift()?.();
        const draft = shares.draft();
        draft.take(path, amount);
        const lengths = [1, 2, 3];
        const drafted = lengths.map((length) => draft.room(path.slice(0, length)));
        if (shares.room(path) < amount) continue;
        held.push(shares.take(path, amount));
        expect(drafted).toEqual(lengths.map((length) => shares.room(path.slice(0, length))));
        expect(shares.room(["new", "new", "new"])).toBeGreaterThan(0);
      }
      for (const giveBack of held) giveBack();
      expect([shares.free, shares.room(["a", "x", "1"])]).toEqual([1_000, 1_000]);
    }),
  );
});
