import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../json.ts";
import { type MatchTrigger, matchTriggers } from "./match-trigger.ts";
import { operators } from "./operators.ts";
import { createTriggerIndex, valuesIn } from "./trigger-index.ts";

function indexOf(triggers: readonly JsonObject[]) {
  const build = createTriggerIndex(triggers, (params) => params);
  for (;;) {
    const step = build.next();
    if (step.done) return step.value;
  }
}
const candidates = (triggers: readonly JsonObject[], data: Json) =>
  indexOf(triggers).candidates(valuesIn(data));

describe("the candidates for an event", () => {
  const filed: [string, JsonObject, Json, Json][] = [
    ["a value", { a: "x" }, { a: "x" }, { a: "y" }],
    ["a number", { a: 12 }, { a: "12" }, { a: 13 }],
    ["the text of a number", { a: "1e3" }, { a: 1000 }, { a: "1e" }],
    ["the text of a boolean", { a: "true" }, { a: true }, { a: 1 }],
    ["an item of a list", { a: "x" }, { a: ["y", "x"] }, { a: [["x"]] }],
    ["a value of each item", { "a[].b": 1 }, { a: [{}, { b: 1 }] }, { a: { b: 1 } }],
    ["one of several values", { a: { op: "in", value: [1, null] } }, { a: null }, { a: 2 }],
    ["a prefix", { a: { op: "starts_with", value: "re" } }, { a: "red" }, { a: "r" }],
    ["the prefix of a number", { a: { op: "starts_with", value: 1 } }, { a: 12 }, { a: 21 }],
    ["the prefix of a pattern", { a: { op: "glob", value: "r?d*" } }, { a: "ring" }, { a: "bed" }],
    ["existence", { a: { op: "exists", value: true } }, { a: 0 }, { a: null }],
    ["absence", { a: { op: "exists", value: "false" } }, { a: null }, { a: 0 }],
  ];
  it.each(filed)("are selected by %s", (_by, params, data, other) => {
    expect(candidates([params], data)).toEqual([params]);
    expect(candidates([params], other)).toEqual([]);
  });

  it.each<[string, JsonObject]>([
    ["without params", {}],
    ["with blank params", { a: "", b: null, c: { op: "eq", value: " " } }],
    ["that compares an object", { a: { x: 1 } }],
    ["that compares a list", { a: ["x"] }],
    ["with an object among several values", { a: { op: "in", value: ["x", { x: 1 }] } }],
    ["with a pattern that starts with *", { a: { op: "glob", value: "*x" } }],
    ["with another operator", { a: { op: "gt", value: 1 } }],
  ])("always contain a trigger %s", (_kind, params) => {
    expect(candidates([params], { b: 1 })).toEqual([params]);
  });

  it.each<[string, JsonObject]>([
    ["with an invalid param", { a: { op: "equals", value: 1 } }],
    ["with an invalid path", { "a..": 1 }],
  ])("never contain a trigger %s", (_kind, params) => {
    expect(candidates([params], { a: 1 })).toEqual([]);
    expect(indexOf([params]).triggers).toEqual([params]);
  });

  it("are selected by the param that fewest triggers share, and by existence last", () => {
    const shop = (name: string) => ({ action: "opened", exists: { op: "exists" }, repo: name });
    const index = indexOf([shop("a"), shop("b"), { action: "closed" }]);
    expect(index.paths).toEqual(["action", "repo"]);
    expect(index.candidates(valuesIn({ action: "opened", repo: "b" }))).toEqual([shop("b")]);
    expect(indexOf([{ a: { op: "exists" }, b: 1 }, { b: 1 }]).paths).toEqual(["b"]);
    const either = (n: number) => ({ a: 1, b: { op: "in", value: [n, -1] } });
    expect(indexOf([either(1), either(2), either(3)]).paths).toEqual(["b"]);
  });

  it("are in the order of the triggers, without duplicates", () => {
    const triggers = [{ a: { op: "in", value: [1, 2] } }, {}, { a: 2 }, { a: 1 }];
    expect(candidates(triggers, { a: [2, 1] })).toEqual(triggers);
  });

  it("contain each trigger that depends on values that were not read", () => {
    const triggers = [{ a: 1 }, { b: 1 }, { b: 2 }];
    expect(indexOf(triggers).candidates((path) => (path === "a" ? undefined : [2]))).toEqual([
      { a: 1 },
      { b: 2 },
    ]);
  });
});

it("returns every trigger that matches", async () => {
  const scalar = fc.oneof(
    fc.constantFrom<Json>(null, true, false, "true", "false", "", " ", "null"),
    fc.constantFrom<Json>(0, -0, 1, 12, 1e21, 0.1, "0", "-0", "1", "1.0", "12", "1e21", "0.1"),
    fc.string({ unit: fc.constantFrom("a", "1", "*", "?", ",", "é"), maxLength: 40 }),
    fc.integer({ min: -3, max: 130 }),
  );
  const value: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      { weight: 4, arbitrary: scalar },
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(fc.constantFrom("a", "b"), tie("value"), { maxKeys: 2, noNullPrototype: true }),
    ),
  })).value;
  const param = fc.oneof(
    value,
    fc.record(
      { op: fc.constantFrom<Json>(...operators, "other"), value },
      { requiredKeys: ["op"], noNullPrototype: true },
    ),
  );
  const path = fc.constantFrom("a", "b", "a.b", "a[]", "a[].b", "a[0]", "a..b");
  const params = fc.dictionary(path, param, {
    maxKeys: 3,
    noNullPrototype: true,
  }) as fc.Arbitrary<JsonObject>;
  const data = fc.dictionary(fc.constantFrom("a", "b"), value, {
    noNullPrototype: true,
  }) as fc.Arbitrary<JsonObject>;
  /** Params of which many match, because their values are from the data. */
  const withOwn = fc.tuple(data, fc.array(params, { maxLength: 8 })).map(([own, others]) => ({
    data: own,
    triggers: [...others, own, ...Object.entries(own).map(([name, datum]) => ({ [name]: datum }))],
  }));
  await fc.assert(
    fc.asyncProperty(withOwn, async ({ data, triggers }) => {
      const event = { tenant: "t", source: "s", type: "x", data };
      const toTrigger = (own: JsonObject): MatchTrigger => ({
        tenant: "t",
        source: "s",
        params: own,
        isActive: true,
      });
      const verdicts = await matchTriggers(event, triggers.map(toTrigger), {
        evaluateFilters: async () => [],
      });
      const found = new Set(candidates(triggers, data));
      for (const [index, own] of triggers.entries())
        if (verdicts[index]?.matched) expect(found.has(own), JSON.stringify(own)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});
