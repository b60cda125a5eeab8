import { expect, it } from "vitest";
import { z } from "zod";
import { assertLengths } from "./assert-lengths.ts";

const schema = z.strictObject({
  nodes: z
    .array(z.strictObject({ tags: z.array(z.string()).max(2).nullish() }))
    .max(3)
    .default([]),
  scopes: z.array(z.enum(["a", "b"])).optional(),
  any: z.record(z.string(), z.array(z.json()).max(1)).optional(),
});

it("accepts arrays within their limits, and values of other types", () => {
  assertLengths(schema, { nodes: [{ tags: ["a", "b"] }, {}, 3], scopes: "a", other: [1, 2, 3] });
  assertLengths(schema, null);
  assertLengths(schema, [[]]);
});

it.each([
  [{ nodes: [1, 2, 3, 4] }, "nodes", "must have at most 3 items, but has 4"],
  [{ nodes: [{}, { tags: [1, 2, 3] }] }, "nodes[1].tags", "at most 2 items"],
  [{ scopes: Array(1_001).fill(0) }, "scopes", "at most 1000 items, but has 1001"],
  [{ any: { x: [1, 2] } }, "any.x", "at most 1 items"],
])("names the array that is too long: %j", (value, field, message) => {
  expect(() => assertLengths(schema, value)).toThrow(
    expect.objectContaining({ field, message: expect.stringContaining(message) }),
  );
});

it("accepts an array that one member of a union accepts, and rejects others", () => {
  const arrayOf = (count: number) => Array(count).fill(0);
  const list = z.union([z.string(), z.array(z.number()).max(3)]);
  expect(() => assertLengths(list, arrayOf(4))).toThrow("must have at most 3 items, but has 4");
  expect(() => assertLengths(list, arrayOf(3))).not.toThrow();
  const either = z.union([z.array(z.number()).max(3), z.array(z.string()).max(5)]);
  expect(() => assertLengths(either, arrayOf(5))).not.toThrow();
  expect(() => assertLengths(either, arrayOf(6))).toThrow("must have at most 3 items, but has 6");
  const byType = z.discriminatedUnion("type", [
    z.object({ type: z.literal("a"), list: z.array(z.number()).max(3) }),
    z.object({ type: z.literal("b") }),
  ]);
  const nested = z.object({ list: z.array(byType) });
  expect(() => assertLengths(nested, { list: [{ type: "b" }] })).not.toThrow();
});

it("does not limit arrays where the schema accepts any JSON", () => {
  expect(() => assertLengths(z.json(), Array(2_000).fill(0))).not.toThrow();
});
