import fc from "fast-check";
import { describe, expect, it } from "vitest";
// The SDK does not depend on the rules of the hub. This test compares the two implementations.
import type { Json } from "../../rules/src/json.ts";
import { looselyEquals as hubLooselyEquals } from "../../rules/src/match/loosely-equals.ts";
import { parsePath as hubParsePath, valuesAt as hubValuesAt } from "../../rules/src/match/path.ts";
import { looselyEquals, paramsMatch, valuesAt } from "./matches.ts";

const data = {
  repo: "a/b",
  number: 123,
  draft: false,
  labels: ["bug", 7],
  issue: { labels: [{ name: "red" }, { name: "urgent" }] },
};

describe("paramsMatch", () => {
  it.each([
    [{}, true],
    [{ repo: "a/b" }, true],
    [{ repo: "A/B" }, false],
    [{ number: "123" }, true],
    [{ number: 123, draft: "false" }, true],
    [{ number: "124" }, false],
    [{ labels: "bug" }, true],
    [{ labels: "7" }, true],
    [{ labels: "feature" }, false],
    [{ "issue.labels[].name": "urgent" }, true],
    [{ "issue.labels[0].name": "urgent" }, false],
    [{ repo: " ", number: null }, true],
    [{ missing: "x" }, false],
    [{ "not a path[": "x" }, false],
  ])("compares %j with the data, and returns %s", (params, expected) =>
    expect(paramsMatch(params, data)).toBe(expected),
  );
});

it("compares values in the same way as the hub", () => {
  const json = fc.oneof(
    fc.constantFrom<Json>("1", 1, "1.0", "true", true, "false", null, "null", 0, "0", "1e3", 1000),
    fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>,
  );
  fc.assert(
    fc.property(json, json, (a, b) => {
      expect(looselyEquals(a, b)).toBe(hubLooselyEquals(a, b));
    }),
    { numRuns: 1000 },
  );
});

it("resolves paths in the same way as the hub", () => {
  const path = fc.oneof(
    fc.string(),
    fc
      .array(fc.constantFrom("a", "b", "[0]", "[]", '["c d"]', "[1]"), {
        minLength: 1,
        maxLength: 4,
      })
      .map((steps) => steps.join(".").replaceAll(".[", "[")),
  );
  const leaf = fc.constantFrom<Json>(1, "x", null);
  const { value } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      leaf,
      fc.array(tie("value"), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom("a", "b", "c d"), tie("value"), { maxKeys: 2 }),
    ) as fc.Arbitrary<Json>,
  }));
  fc.assert(
    fc.property(path, value, (text, json) => {
      const steps = hubParsePath(text);
      expect(valuesAt(json, text)).toEqual(steps ? hubValuesAt(json, steps) : []);
    }),
    { numRuns: 1000 },
  );
});
