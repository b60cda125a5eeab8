import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../json.ts";
import { isOneOf, looselyEquals, numberOf } from "./loosely-equals.ts";

describe("looselyEquals", () => {
  it.each<[Json, Json, boolean]>([
    ["123", 123, true],
    [123, "123", true],
    ["1e3", 1000, true],
    ["true", true, true],
    [false, "false", true],
    ["True", true, false],
    ["0123", 123, false],
    [" 123", 123, false],
    ["", 0, false],
    ["1.0", "1", false],
    [1, true, false],
    [null, "null", false],
    [null, 0, false],
    [{ a: "1", b: [true] }, { b: ["true"], a: 1 }, true],
    [{ a: 1 }, { a: 1, b: 2 }, false],
    [{ a: 1, b: 2 }, { a: 1, c: 2 }, false],
    [[1, 2], [2, 1], false],
    [[1], [1, 2], false],
    [[], {}, false],
    [JSON.parse('{"__proto__":{}}') as Json, { x: {} }, false],
  ])("of %j and %j is %s", (a, b, expected) => {
    expect(looselyEquals(a, b)).toBe(expected);
  });

  it("is reflexive and symmetric", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        expect(looselyEquals(a as Json, JSON.parse(JSON.stringify(a)) as Json)).toBe(true);
        expect(looselyEquals(a as Json, b as Json)).toBe(looselyEquals(b as Json, a as Json));
      }),
    );
  });

  it("does not overflow the stack", () => {
    const deep = () => JSON.parse("[".repeat(50_000) + "]".repeat(50_000)) as Json;
    expect(looselyEquals(deep(), deep())).toBe(true);
  });
});

it("isOneOf returns the same result as a comparison with each item", () => {
  const json = fc.oneof(
    fc.constantFrom<Json>("1", 1, "1.0", "true", true, false, "false", null, "null", 0, "0", "-0"),
    fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>,
  );
  fc.assert(
    fc.property(json, fc.array(json, { maxLength: 3 }), (value, list) => {
      expect(isOneOf(list)(value)).toBe(list.some((item) => looselyEquals(value, item)));
    }),
    { numRuns: 1000 },
  );
});

it("numberOf accepts only numbers and strings in plain notation", () => {
  expect(["1", "-2.5", "0x1f", "", " 1", "1 ", "Infinity", "NaN", true].map(numberOf)).toEqual([
    1,
    -2.5,
    ...Array<undefined>(7).fill(undefined),
  ]);
});
