import fc from "fast-check";
import { expect, it } from "vitest";
import type { Json } from "../json.ts";
import { holds, type Operator, operators } from "./operators.ts";

it.each<[Operator, Json[], Json, boolean]>([
  ["eq", ["opened"], "opened", true],
  ["eq", [123], "123", true],
  ["eq", [["red", "bug"]], "bug", true],
  ["eq", ["red", "bug"], "bug", true],
  ["eq", [], "bug", false],
  ["eq", [["a", "b"]], ["a", "b"], true],
  ["ne", ["opened"], "closed", true],
  ["ne", ["opened"], "opened", false],
  ["ne", [["red", "bug"]], "bug", false],
  ["ne", [], "bug", true],
  ["in", ["bug"], ["red", "bug"], true],
  ["in", [7], ["7"], true],
  ["in", [["x", "bug"]], ["bug"], true],
  ["in", ["blue"], ["red", "bug"], false],
  ["in", ["a"], "a", false],
  ["contains", ["the lamp is red"], "lamp", true],
  ["contains", ["the lamp is red"], "Lamp", false],
  ["contains", ["release 17"], 17, true],
  ["contains", [["red", 7]], "7", true],
  ["contains", [{ a: 1 }], "a", false],
  ["starts_with", ["refs/heads/main"], "refs/heads/", true],
  ["starts_with", ["main"], "refs/", false],
  ["starts_with", [["x", "refs/tags/1"]], "refs/", true],
  ["glob", ["acme/lamp"], "acme/*", true],
  ["glob", ["other/lamp"], "acme/*", false],
  ["gt", [11], 10, true],
  ["gt", ["11"], "9", true],
  ["gt", [10], 10, false],
  ["gt", ["2026-02-01T00:00:00Z"], "2026-01-31", true],
  ["gt", ["blue"], "apple", false],
  ["gt", [{}], 0, false],
  ["gt", [null], -1, false],
  ["lt", [9], 10, true],
  ["lt", [[20, 3]], 5, true],
  ["lt", [], 5, false],
  ["exists", [0], true, true],
  ["exists", [false], true, true],
  ["exists", [null], true, false],
  ["exists", [], true, false],
  ["exists", [], false, true],
  ["exists", [null], "false", true],
  ["exists", ["x"], false, false],
])("%s on the values %j with the wanted value %j returns %s", (op, data, wanted, expected) => {
  expect(holds(op, data, wanted)).toBe(expected);
});

it("never throws, for any operator and any values", () => {
  const json = fc.jsonValue() as fc.Arbitrary<Json>;
  fc.assert(
    fc.property(fc.constantFrom(...operators), fc.array(json), json, (op, data, wanted) => {
      expect(typeof holds(op, data, wanted)).toBe("boolean");
    }),
  );
});
