import fc from "fast-check";
import { expect, it } from "vitest";
import { createSlugNamer, isSlug, reservedSlugs, slugFor } from "./slug.ts";

it.each([
  ["Fetch Data", [], "fetch_data"],
  ["Fetch Data", ["fetch_data"], "fetch_data_2"],
  ["Trigger", [], "trigger_2"],
  ["Secrets", [], "secrets_2"],
  ["Trigger", ["trigger_2"], "trigger_3"],
  ["Item", [], "item_2"],
  ["天気", [], "node"],
  ["2nd try", [], "node_2nd_try"],
])("the slug of %s with %j taken is %s", (name, taken, expected) => {
  expect(slugFor(name, new Set(taken))).toBe(expected);
});

it("names many nodes with the same name in linear time", () => {
  const nameNode = createSlugNamer(["step_3"]);
  expect(["Step", "Step", "Step", "Other"].map(nameNode)).toEqual([
    "step",
    "step_2",
    "step_4",
    "other",
  ]);
  const startedAt = performance.now();
  const names = new Set(Array.from({ length: 40_000 }, () => nameNode("x".repeat(80))));
  expect(names.size).toBe(40_000);
  // An algorithm with quadratic time would take more than 40 s.
  expect(performance.now() - startedAt).toBeLessThan(15_000);
});

it("derives a valid slug from every name", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme-ascii" }), fc.array(fc.string()), (name, taken) => {
      expect(isSlug(slugFor(name, new Set(taken)))).toBe(true);
    }),
  );
  for (const slug of [...reservedSlugs, "", "1a", "a-b", "A", "x".repeat(65)])
    expect(isSlug(slug)).toBe(false);
});
