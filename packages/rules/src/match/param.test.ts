import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../json.ts";
import { matchTriggers } from "./match-trigger.ts";
import { operators } from "./operators.ts";
import { paramsSchema, readParam } from "./param.ts";

describe("a param", () => {
  it.each<[Json, ReturnType<typeof readParam>]>([
    ["opened", { op: "eq", value: "opened" }],
    [0, { op: "eq", value: 0 }],
    [false, { op: "eq", value: false }],
    [{ a: 1 }, { op: "eq", value: { a: 1 } }],
    ["", "any"],
    ["  ", "any"],
    [null, "any"],
    [{ op: "gt", value: "" }, "any"],
    [{ op: "glob" }, "any"],
    [{ op: "in", value: [] }, "any"],
    [
      { op: "in", value: "red, bug" },
      { op: "in", value: ["red", "bug"] },
    ],
    [{ op: "exists" }, { op: "exists", value: true }],
    [
      { op: "exists", value: false },
      { op: "exists", value: false },
    ],
  ])("%j is parsed as %j", (param, parsed) => {
    expect(readParam(param)).toEqual(parsed);
  });

  it.each<[Json, string]>([
    [{ op: "regex", value: "a" }, "op must be one of eq, ne, in,"],
    [{ op: 1 }, "but is 1"],
    [{ op: "eq", value: 1, extra: 2 }, "unexpected field extra: only op and value are allowed"],
    [{ op: "in", value: 3 }, "value must be a list if op is 'in'"],
    [
      { op: "in", value: Array<Json>(1001).fill(1) },
      "value must have at most 1000 items if op is 'in'",
    ],
    [
      { op: "glob", value: "*".repeat(1001) },
      "value must have at most 1000 characters if op is 'glob'",
    ],
    [{ op: "glob", value: { toString: 1 } }, "value must be text if op is 'glob'"],
    [{ op: "glob", value: ["a*"] }, "value must be text if op is 'glob'"],
  ])("%j is invalid", (param, message) => {
    expect(readParam(param)).toEqual({ problem: expect.stringContaining(message) });
  });
});

describe("the schema of params", () => {
  it("accepts paths with plain values and with operators", () => {
    const params = { action: "opened", "issue.labels[].name": { op: "ne", value: "wip" }, n: 1 };
    expect(paramsSchema.parse(params)).toEqual(params);
  });

  it.each([
    [{ "a..b": 1 }, "a..b", "is not a path"],
    [{ a: { op: "like", value: 1 } }, "a", "op must be one of"],
    [{ a: { op: "glob", value: "*".repeat(1001) } }, "a", "at most 1000 characters"],
    [{ a: { op: "glob", value: { toString: 1 } } }, "a", "value must be text"],
  ])("rejects %j with an issue at %s", (params, path, message) => {
    const issue = paramsSchema.safeParse(params).error?.issues[0];
    expect(issue?.path).toEqual([path]);
    expect(issue?.message).toContain(message);
  });

  it("rejects more than 50 params", () => {
    const params = Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`p${n}`, n]));
    const { error } = paramsSchema.safeParse(params);
    expect(error?.issues[0]?.message).toBe("must have at most 50 params");
  });
});

it("is valid or has a problem, and never throws, for objects that cannot be converted to text", async () => {
  const name = fc.constantFrom("toString", "valueOf", "toJSON", "__proto__", "length", "op", "a");
  const { value } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.jsonValue({ maxDepth: 0 }) as fc.Arbitrary<Json>,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(name, tie("value"), { maxKeys: 3 }),
    ),
  }));
  const test = fc.record({ op: fc.oneof(fc.constantFrom(...operators), value), value });
  // As a request body: parsed JSON has prototypes, and may have its own `__proto__`.
  const params = fc
    .dictionary(name, fc.oneof(test, value), { maxKeys: 3 })
    .map((parts) => JSON.parse(JSON.stringify(parts)) as JsonObject);
  await fc.assert(
    fc.asyncProperty(params, value, async (params, data) => {
      expect(typeof paramsSchema.safeParse(params).success).toBe("boolean");
      const event = { tenant: "t", source: "s", type: "x", data };
      const trigger = { tenant: "t", source: "s", params, isActive: true };
      const evaluateFilters = async () => [];
      expect(await matchTriggers(event, [trigger], { evaluateFilters })).toHaveLength(1);
    }),
    { numRuns: 1_000 },
  );
});
