import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { issuesOf } from "./issues.ts";
import { checkArguments, inputSchema, parametersSchema, readParameters } from "./parameters.ts";

const parameters = parametersSchema.parse([
  { name: "city", description: "Such as Bern" },
  { name: "days", type: "integer", default: 3 },
  { name: "ratio", type: "number", optional: true },
  { name: "wet", type: "boolean", required: false },
  { name: "unit", type: "enum", enum: ["C", "F"], optional: true },
  { name: "tags", type: "array", items: "string", optional: true },
  { name: "when", format: "date-time", optional: true },
  { name: "extra", type: "object", optional: true },
  {
    name: "range",
    optional: true,
    schema: {
      type: "object",
      properties: { from: { type: "number", minimum: 0 } },
      required: ["from"],
      additionalProperties: false,
    },
  },
]);
const check = (given: unknown) => checkArguments(parameters, given);

describe("parameters as JSON Schema", () => {
  it("say all that they hold", () => {
    expect(inputSchema(parameters)).toEqual({
      type: "object",
      properties: {
        city: { type: "string", description: "Such as Bern" },
        days: { type: "integer", default: 3 },
        ratio: { type: "number" },
        wet: { type: "boolean" },
        unit: { enum: ["C", "F"] },
        tags: { type: "array", items: { type: "string" } },
        when: { type: "string", format: "date-time" },
        extra: { type: "object" },
        range: {
          type: "object",
          properties: { from: { type: "number", minimum: 0 } },
          required: ["from"],
          additionalProperties: false,
        },
      },
      required: ["city"],
      additionalProperties: false,
    });
  });

  it("of a tool that wants nothing", () => {
    expect(inputSchema([])).toEqual({
      type: "object",
      properties: {},
      required: [],
      additionalProperties: false,
    });
  });
});

describe("parameters are refused", () => {
  it.each([
    [{ name: "" }, "[0].name"],
    [{ name: "a b" }, "[0].name"],
    [{ name: "a", type: "date" }, "[0].type"],
    [{ name: "a", type: "enum" }, "[0].enum"],
    [{ name: "a", type: "enum", enum: [] }, "[0].enum"],
    [{ name: "a", type: "integer", default: "x" }, "[0].default"],
    [{ name: "a", schema: { type: "thing" } }, "[0].schema"],
    [{ name: "a", colour: "red" }, "[0].colour"],
    [{ name: "__proto__" }, "[0].name"],
    [{ name: "a", schema: { pattern: "^(?=a)" } }, "[0].schema"],
    [{ name: "a", schema: { minLength: "x" } }, "[0].schema"],
    [{ name: "a", schema: { pattern: "^(a|b)*c$" }, default: "ab".repeat(50_000) }, "[0].default"],
  ])("%j for %s", (parameter, path) => {
    const { error } = parametersSchema.safeParse([parameter]);
    expect(error && issuesOf(error).map((issue) => issue.path)).toEqual([path]);
  });
});

describe("the arguments of a call", () => {
  it("are taken, with defaults for what is left out", () => {
    expect(check({ city: "Bern", tags: ["a"] })).toEqual({
      ok: true,
      input: { city: "Bern", days: 3, tags: ["a"] },
    });
    const all = {
      city: "Bern",
      days: 1,
      ratio: 0.5,
      wet: false,
      unit: "F",
      tags: [],
      when: "2026-01-05T09:30:00Z",
      extra: { any: 1 },
      range: { from: 0 },
    };
    expect(check(all)).toEqual({ ok: true, input: all });
  });

  it.each<[unknown, string]>([
    [{}, "city: is missing"],
    [undefined, "city: is missing"],
    [[], "arguments: must be an object"],
    [{ city: 5 }, "city: must be string, but is number"],
    [{ city: null }, "city: must be string, but is null"],
    [{ city: "x", days: 1.5 }, "days: must be integer, but is number"],
    [{ city: "x", days: "3" }, "days: must be integer, but is string"],
    [{ city: "x", wet: "true" }, "wet: must be boolean, but is string"],
    [{ city: "x", unit: "K" }, 'unit: must be one of "C", "F"'],
    [{ city: "x", tags: ["a", 2] }, "tags[1]: must be string, but is number"],
    [{ city: "x", when: "soon" }, "when: must be as the format date-time has it"],
    [{ city: "x", range: {} }, "range: lacks from"],
    [{ city: "x", range: { from: -1 } }, "range.from: must be at least 0, but is -1"],
    [{ city: "x", town: "y" }, "town: is not an argument of this tool; it has city, days, ratio"],
    [JSON.parse('{ "city": "x", "__proto__": {} }'), "__proto__: is not an argument"],
  ])("%j: %s", (given, words) => {
    const checked = check(given);
    const errors = checked.ok
      ? []
      : checked.errors.map(({ path, message }) => `${path}: ${message}`);
    expect(errors).toEqual([expect.stringContaining(words)]);
  });

  it("are told all that is wrong at once", () => {
    expect(check({ days: "x", town: 1 })).toMatchObject({
      errors: [{ path: "city" }, { path: "days" }, { path: "town" }],
    });
  });

  it("get a default of their own, not one that all calls share", () => {
    const [list] = parametersSchema.parse([{ name: "list", type: "array", default: [] }]);
    const one = checkArguments([list as never], {});
    const two = checkArguments([list as never], {});
    expect(one.ok && two.ok && one.input.list !== two.input.list).toBe(true);
  });

  it("of a flow from before a rule was made are refused one by one, in words", () => {
    const old = readParameters([{ name: "x", schema: { type: "string", pattern: "^(?=a)" } }]);
    expect(checkArguments(old, { x: "a" })).toEqual({
      ok: false,
      errors: [
        {
          path: "x",
          message:
            "cannot be checked, its schema is broken: its pattern must not look ahead or behind, as (?= does",
        },
      ],
    });
  });

  it("have one budget for all of them", () => {
    const schema = { type: "string", pattern: "^(a+)+$" };
    const names = Array.from({ length: 100 }, (_, nth) => `p${nth}`);
    const many = parametersSchema.parse(names.map((name) => ({ name, schema })));
    const given = Object.fromEntries(names.map((name) => [name, "a".repeat(10_000)]));
    const checked = checkArguments(many, given);
    expect(checked.ok ? [] : checked.errors.map(({ message }) => message)).toContain(
      "is too much to check: make it shorter, or its schema simpler",
    );
    expect(
      checkArguments(many.slice(0, 3), { p0: "a", p1: "a", p2: `${"a".repeat(100)}!` }),
    ).toEqual({
      ok: false,
      errors: [{ path: "p2", message: "must fit the pattern ^(a+)+$" }],
    });
  });

  it("may be called __proto__ in older flows, without harm", () => {
    const odd = readParameters([{ name: "__proto__", type: "object" }]);
    expect(JSON.stringify(inputSchema(odd).properties)).toBe('{"__proto__":{"type":"object"}}');
    const checked = checkArguments(odd, JSON.parse('{ "__proto__": { "evil": true } }'));
    expect(checked.ok && Object.hasOwn(checked.input, "__proto__")).toBe(true);
    expect(({} as { evil?: boolean }).evil).toBeUndefined();
  });

  it("that nobody knows are told in short, however many and long", () => {
    const names = Array.from({ length: 10_000 }, (_, nth) => `x${nth}${"y".repeat(1_000)}`);
    const checked = check(
      Object.fromEntries([["city", "Bern"], ...names.map((name) => [name, 1])]),
    );
    if (checked.ok) throw new Error("fits");
    expect(checked.errors).toHaveLength(11);
    expect(checked.errors.at(-1)?.message).toBe("9990 more are not arguments of this tool");
    expect(JSON.stringify(checked.errors).length).toBeLessThan(5_000);
  });

  it("are checked without throwing, whatever comes", () => {
    fc.assert(fc.property(fc.anything(), (given) => void check(given)));
    fc.assert(
      fc.property(fc.record({ city: fc.jsonValue(), range: fc.jsonValue() }), (given) => {
        const checked = check(given);
        if (checked.ok) expect(typeof checked.input.city).toBe("string");
      }),
    );
  });
});
