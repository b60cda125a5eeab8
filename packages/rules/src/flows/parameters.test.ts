import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { issuesOf } from "./issues.ts";
import { checkArguments, inputSchema, parametersSchema, readParameters } from "./parameters.ts";
import { validateAll } from "./test-context.ts";

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
const check = (args: unknown) => checkArguments(parameters, args, validateAll);

describe("inputSchema", () => {
  it("converts all types of parameters", () => {
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

  it("has no properties for a tool without parameters", () => {
    expect(inputSchema([])).toEqual({
      type: "object",
      properties: {},
      required: [],
      additionalProperties: false,
    });
  });
});

describe("parametersSchema", () => {
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
    [{ name: "a", schema: { pattern: "(" } }, "[0].schema"],
    [{ name: "a", schema: { minLength: "x" } }, "[0].schema"],
    [{ name: "a", schema: { maxLength: 3 }, default: "abcd" }, "[0].default"],
  ])("rejects %j and reports the path %s", (parameter, path) => {
    const { error } = parametersSchema.safeParse([parameter]);
    expect(error && issuesOf(error).map((issue) => issue.path)).toEqual([path]);
  });
});

describe("checkArguments", () => {
  it("accepts valid arguments, and adds defaults for omitted ones", async () => {
    expect(await check({ city: "Bern", tags: ["a"] })).toEqual({
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
    expect(await check(all)).toEqual({ ok: true, input: all });
  });

  it.each<[unknown, string]>([
    [{}, "city: is missing"],
    [undefined, "city: is missing"],
    [[], "arguments: must be an object"],
    [{ city: 5 }, "city: must be a string, but is a number"],
    [{ city: null }, "city: must be a string, but is null"],
    [{ city: "x", days: 1.5 }, "days: must be an integer, but is a number"],
    [{ city: "x", days: "3" }, "days: must be an integer, but is a string"],
    [{ city: "x", wet: "true" }, "wet: must be a boolean, but is a string"],
    [{ city: "x", unit: "K" }, 'unit: must be one of "C", "F"'],
    [{ city: "x", tags: ["a", 2] }, "tags[1]: must be a string, but is a number"],
    [{ city: "x", when: "soon" }, "when: must match the format date-time"],
    [{ city: "x", range: {} }, 'range: missing required property "from"'],
    [{ city: "x", range: { from: -1 } }, "range.from: must be at least 0, but is -1"],
    [{ city: "x", town: "y" }, "town: unexpected argument; the tool has city, days, ratio"],
    [JSON.parse('{ "city": "x", "__proto__": {} }'), "__proto__: unexpected argument"],
  ])("rejects %j with the message %s", async (args, message) => {
    const checked = await check(args);
    const errors = checked.ok
      ? []
      : checked.errors.map(({ path, message }) => `${path}: ${message}`);
    expect(errors).toEqual([expect.stringContaining(message)]);
  });

  it("reports every error", async () => {
    expect(await check({ days: "x", town: 1 })).toMatchObject({
      errors: [{ path: "city" }, { path: "days" }, { path: "town" }],
    });
  });

  it("copies a default for each call", async () => {
    const [list] = parametersSchema.parse([{ name: "list", type: "array", default: [] }]);
    const first = await checkArguments([list as never], {}, validateAll);
    const second = await checkArguments([list as never], {}, validateAll);
    expect(first.ok && second.ok && first.input.list !== second.input.list).toBe(true);
  });

  it("reports an invalid schema of a flow that an earlier version of the hub has published", async () => {
    const old = readParameters([{ name: "x", schema: { type: "string", pattern: "(" } }]);
    expect(await checkArguments(old, { x: "a" }, validateAll)).toMatchObject({
      ok: false,
      errors: [{ path: "x", message: expect.stringContaining("its schema is invalid") }],
    });
  });

  it("supports references within the schema of a parameter", async () => {
    const schema = {
      type: "object",
      properties: { next: { $ref: "#" }, size: { $ref: "#/$defs/size" } },
      $defs: { size: { type: "integer", maximum: 7 } },
    };
    const nested = parametersSchema.parse([{ name: "list", schema }]);
    const args = { list: { next: { size: 9 } } };
    expect(await checkArguments(nested, args, validateAll)).toEqual({
      ok: false,
      errors: [{ path: "list.next.size", message: "must be at most 7, but is 9" }],
    });
    const toolSchema = inputSchema(nested);
    expect(toolSchema.properties.list).toMatchObject({
      properties: {
        next: { $ref: "#/properties/list" },
        size: { $ref: "#/properties/list/$defs/size" },
      },
    });
    expect(await validateAll([{ schema: toolSchema, value: args }])).toEqual([
      { keys: ["list", "next", "size"], message: "must be at most 7, but is 9" },
    ]);
  });

  it("validates a default with a pattern when a call uses it", async () => {
    const wrong = parametersSchema.parse([{ name: "x", schema: { pattern: "^a$" }, default: "b" }]);
    expect(await checkArguments(wrong, {}, validateAll)).toEqual({
      ok: false,
      errors: [{ path: "x", message: "must match the pattern ^a$" }],
    });
    expect(await checkArguments(wrong, { x: "a" }, validateAll)).toMatchObject({ ok: true });
  });

  it("accepts the argument __proto__ in flows that were published before the name was rejected", async () => {
    const odd = readParameters([{ name: "__proto__", type: "object" }]);
    expect(JSON.stringify(inputSchema(odd).properties)).toBe('{"__proto__":{"type":"object"}}');
    const args = JSON.parse('{ "__proto__": { "evil": true } }');
    const checked = await checkArguments(odd, args, validateAll);
    expect(checked.ok && Object.hasOwn(checked.input, "__proto__")).toBe(true);
    expect(({} as { evil?: boolean }).evil).toBeUndefined();
  });

  it("limits the number and the length of errors about unexpected arguments", async () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `x${index}${"y".repeat(1_000)}`);
    const checked = await check(
      Object.fromEntries([["city", "Bern"], ...names.map((name) => [name, 1])]),
    );
    if (checked.ok) throw new Error("accepted");
    expect(checked.errors).toHaveLength(11);
    expect(checked.errors.at(-1)?.message).toBe("9990 more unexpected arguments");
    expect(JSON.stringify(checked.errors).length).toBeLessThan(5_000);
  });

  it("never throws, for any arguments", async () => {
    await fc.assert(fc.asyncProperty(fc.anything(), async (args) => void (await check(args))));
    await fc.assert(
      fc.asyncProperty(fc.record({ city: fc.jsonValue(), range: fc.jsonValue() }), async (args) => {
        const checked = await check(args);
        if (checked.ok) expect(typeof checked.input.city).toBe("string");
      }),
    );
  });
});
