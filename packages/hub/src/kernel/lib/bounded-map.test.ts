import fc from "fast-check";
import { expect, it } from "vitest";
import { BoundedMap } from "./bounded-map.ts";

it("evicts the entry that was written longest ago", () => {
  const map = new BoundedMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.set("a", 3);
  map.set("c", 4);
  expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([3, undefined, 4]);
});

it("never exceeds the maximum weight, and contains the latest entry if it fits", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom("a", "b", "c", "d"), fc.nat(12), fc.boolean())),
      (writes) => {
        const map = new BoundedMap<string, number>(10, (value) => value);
        const keys = ["a", "b", "c", "d"];
        for (const [key, value, isDelete] of writes) {
          if (isDelete) map.delete(key);
          else map.set(key, value);
          const weight = keys.reduce((sum, key) => sum + (map.get(key) ?? 0), 0);
          expect(weight).toBeLessThanOrEqual(10);
          if (!isDelete) expect(map.get(key)).toBe(value <= 10 ? value : undefined);
        }
        map.clear();
        map.set("a", 10);
        expect(map.get("a")).toBe(10);
      },
    ),
  );
});
