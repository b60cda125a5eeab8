import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/server/validators/cf-worker";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonSchema } from "../json.ts";
import { schemaProblem } from "./schema-problem.ts";
import {
  createSchemaValidator,
  isCheap,
  type SchemaCheck,
  validateInProcess,
} from "./validate-schema.ts";

const validate = (schema: Json & object, value: Json) =>
  validateInProcess({ schema: structuredClone(schema) as JsonSchema, value });
const tree = {
  properties: { next: { $ref: "#" }, value: { type: "number" } },
  additionalProperties: false,
};
const people = { allOf: [{ properties: { name: {} } }], unevaluatedProperties: false };

describe("validation", () => {
  it.each<[Json & object, Json, (string | number)[], string]>([
    [{ type: "string" }, 5, [], "must be a string, but is a number"],
    [{ type: ["string", "null"] }, [], [], "must be a string or null, but is an array"],
    [{ enum: ["a", "b"] }, "c", [], 'must be one of "a", "b"'],
    [{ const: { a: [1] } }, { a: [2] }, [], 'must be {"a":[1]}'],
    [{ type: "string", format: "email" }, "x", [], "must match the format email"],
    [{ format: "url" }, "x:y", [], "must match the format url"],
    [{ format: "url" }, `http://\t/${"é".repeat(1001)}`, [], "must match the format url"],
    [{ format: "regex" }, "(", [], "must match the format regex"],
    [{ pattern: "^a+$" }, "ab", [], "must match the pattern ^a+$"],
    [{ minLength: 2 }, "😀", [], "must have at least 2 characters, but has 1"],
    [{ maxLength: 1 }, "😀😀", [], "must have at most 1 character, but has 2"],
    [
      { type: "array", items: { type: "string" } },
      ["a", 2],
      [1],
      "must be a string, but is a number",
    ],
    [{ prefixItems: [{}], items: false }, [1, 2], [1], "unexpected item"],
    [{ items: [{}], additionalItems: false }, [1, 2], [1], "unexpected item"],
    [
      { contains: { const: 1 } },
      [2],
      [],
      "must contain an item that matches the schema in contains",
    ],
    [
      { contains: { const: 1 }, minContains: 2 },
      [1, 3],
      [],
      "must contain at least 2 items that match",
    ],
    [{ contains: {}, maxContains: 1 }, [2, 3], [], "must contain at most 1 item that match"],
    [
      { uniqueItems: true },
      [1, { a: 1, b: 2 }, { b: 2, a: 1 }],
      [],
      "must not contain duplicates: items 1 and 2 are equal",
    ],
    [{ prefixItems: [{}], unevaluatedItems: false }, [1, 2], [1], "unexpected item"],
    [
      { properties: { "a/b~c": { properties: { d: { minimum: 3 } } } } },
      { "a/b~c": { d: 1 } },
      ["a/b~c", "d"],
      "must be at least 3, but is 1",
    ],
    [{ exclusiveMaximum: 3 }, 3, [], "must be less than 3, but is 3"],
    [{ multipleOf: 0.1 }, 0.35, [], "must be a multiple of 0.1, but is 0.35"],
    [{ required: ["p"] }, {}, [], 'missing required property "p"'],
    [{ dependentRequired: { a: ["b"] } }, { a: 1 }, [], 'missing property "b", which "a" requires'],
    [{ dependencies: { a: ["b"] } }, { a: 1 }, [], 'missing property "b", which "a" requires'],
    [{ dependencies: { a: { required: ["b"] } } }, { a: 1 }, [], 'missing required property "b"'],
    [
      { propertyNames: { maxLength: 1 } },
      { ab: 1 },
      ["ab"],
      "property name must have at most 1 character, but has 2",
    ],
    [{ properties: {}, additionalProperties: false }, { q: 1 }, ["q"], "unexpected property"],
    [
      { patternProperties: { "^x": { type: "null" } } },
      { x1: 1 },
      ["x1"],
      "must be null, but is a number",
    ],
    [people, { name: "x", age: 1 }, ["age"], "unexpected property"],
    [
      { anyOf: [{ type: "string" }, { type: "null" }] },
      1,
      [],
      "must be a string, but is a number, or must be null, but is a number",
    ],
    [{ oneOf: [{ type: "null" }, { items: { minimum: 2 } }] }, [1], [0], "must be at least 2"],
    [{ oneOf: [{}, {}] }, 1, [], "matches 2 of the schemas in oneOf, but must match exactly one"],
    [{ not: {} }, 1, [], "must not match the schema in not"],
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword.
    [{ if: { type: "string" }, then: { minLength: 2 }, else: false }, "a", [], "at least 2"],
    [{ if: { type: "string" }, else: false }, 1, [], "no value is allowed"],
    [{ pattern: "(" }, "x", [], "its schema is invalid: Invalid regular expression"],
    [{ $ref: "#/$defs/n", $defs: { n: { minimum: 3 } } }, 1, [], "must be at least 3, but is 1"],
    [tree, { next: { next: { value: "x" } } }, ["next", "next", "value"], "must be a number"],
    [{ $ref: "#/$defs/none" }, 1, [], 'its schema is invalid: Unresolved $ref "#/$defs/none"'],
    [
      { $ref: "#" },
      1,
      [],
      "cannot be validated: the value or its schema is too large, too deeply nested or endlessly recursive",
    ],
    [{ anyOf: [{ $ref: "#/$defs/a" }], $defs: { a: { const: 1 } } }, 2, [], "must be 1"],
  ])("reports at the path $2: $3", (schema, value, keys, message) => {
    const error = validate(schema, value);
    expect(error?.keys).toEqual(keys);
    expect(error?.message).toContain(message);
  });

  it.each<[Json & object, Json]>([
    [{ type: "object", properties: { n: { type: "integer" } } }, { n: 3 }],
    [{ format: "url" }, "https://example.com/a?b"],
    [{ format: "regex" }, "^(?!a)(?<b>\\p{L})\\k<b>$"],
    [{ pattern: "^(?!a)(b)\\1$" }, "bb"],
    [tree, { next: { next: { value: 1 } } }],
    [{ format: "unknown" }, "x".repeat(200_000)],
    [{ format: "__proto__" }, "x"],
    [{ multipleOf: 0.1 }, 0.3],
    [people, { name: "x" }],
    [{ uniqueItems: true }, [1, "1", [1], { a: 1 }, { a: "1" }, null, "null"]],
    [{ contains: { const: 1 }, minContains: 0 }, []],
  ])("with the schema %j accepts %j", (schema, value) => {
    expect(validate(schema, value)).toBeUndefined();
  });

  it("never throws for any schema", () => {
    const keyword = fc.constantFrom(
      "type",
      "items",
      "properties",
      "$ref",
      "pattern",
      "enum",
      "anyOf",
    );
    fc.assert(
      fc.property(fc.dictionary(keyword, fc.jsonValue()), fc.jsonValue(), (schema, value) => {
        validate(schema as JsonSchema, value as Json);
      }),
    );
  });

  it("returns the same results as the MCP SDK's validator", () => {
    const sdk = new CfWorkerJsonSchemaValidator({ draft: "2020-12" });
    const name = fc.constantFrom("a", "b", "ab");
    const { value, schema } = fc.letrec<{ value: Json; schema: Json }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 2 },
        fc.constantFrom<Json[]>(null, true, 0, 1, 2, 1.5, "", "a", "ab"),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(name, tie("value"), { maxKeys: 3, noNullPrototype: true }),
      ),
      schema: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom<Json[]>(true, false, { type: "string" }, { type: ["integer", "object"] }),
        fc.record(
          {
            type: fc.constantFrom("array", "object", "string", "number"),
            enum: fc.array(tie("value"), { minLength: 1, maxLength: 3 }),
            const: tie("value"),
            multipleOf: fc.constantFrom(1, 2, 0.5, 0.3),
            dependentRequired: fc.dictionary(name, fc.array(name), { noNullPrototype: true }),
            dependentSchemas: fc.dictionary(name, tie("schema"), {
              maxKeys: 2,
              noNullPrototype: true,
            }),
            minimum: fc.constantFrom(0, 1),
            exclusiveMaximum: fc.constantFrom(1, 2),
            minLength: fc.constantFrom(0, 1),
            pattern: fc.constantFrom("^a", "b$", "^(a|b)*$"),
            maxItems: fc.constantFrom(1, 2),
            uniqueItems: fc.boolean(),
            items: tie("schema"),
            prefixItems: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
            contains: tie("schema"),
            properties: fc.dictionary(name, tie("schema"), { maxKeys: 2, noNullPrototype: true }),
            patternProperties: fc.record({ "^a": tie("schema") }, { noNullPrototype: true }),
            additionalProperties: tie("schema"),
            propertyNames: tie("schema"),
            required: fc.array(name, { maxLength: 1 }),
            minProperties: fc.constantFrom(0, 1),
            anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
            oneOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
            allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
            not: tie("schema"),
            if: tie("schema"),
            // biome-ignore lint/suspicious/noThenProperty: it is a keyword.
            then: tie("schema"),
            else: tie("schema"),
          },
          { requiredKeys: [], noNullPrototype: true },
        ),
      ),
    })) as { value: fc.Arbitrary<Json>; schema: fc.Arbitrary<Json> };
    fc.assert(
      fc.property(schema, value, (anySchema, anyValue) => {
        fc.pre(typeof anySchema === "object");
        expect(schemaProblem(anySchema)).toBeUndefined();
        const { valid } = sdk.getValidator(structuredClone(anySchema) as object)(anyValue);
        expect(validate(anySchema as JsonSchema, anyValue) === undefined).toBe(valid);
      }),
      { numRuns: 300 },
    );
  });
});

describe("multipleOf", () => {
  const isMultiple = (value: number, divisor: number) =>
    validate({ multipleOf: divisor }, value) === undefined;

  it.each([
    [1.00000005, 1],
    [0.01000005, 0.01],
    [1.5e-8, 1e-8],
    [1e21, 7],
    [1e300, 1.7e300],
  ])("rejects %d for the divisor %d", (value, divisor) =>
    expect(isMultiple(value, divisor)).toBe(false),
  );

  it.each([
    [0.3, 0.1],
    [1.1, 0.01],
    [4.35, 0.01],
    [3e-8, 1e-8],
    [-19.99, 0.01],
    [1e21, 0.01],
    [1e308, 5e-324],
    [123_456_789.12, 0.01],
    [-0, 3],
  ])("accepts %d for the divisor %d", (value, divisor) =>
    expect(isMultiple(value, divisor)).toBe(true),
  );
});

describe("a validation", () => {
  const check = (schema: Json & object, value: Json): SchemaCheck[] => [
    { schema: schema as JsonSchema, value },
  ];

  it.each<[Json & object, Json]>([
    [{ type: "string", maxLength: 5 }, "x"],
    [{ enum: ["a", "b"] }, "c"],
    [{ properties: { a: { items: { type: "number" } } }, required: ["a"] }, { a: [1, 2, 3] }],
    [{ type: "string" }, "x".repeat(10_000)],
  ])("with the schema %j is cheap, and runs in this process", (schema, value) =>
    expect(isCheap(check(schema, value))).toBe(true),
  );

  it.each<[Json & object, Json]>([
    [{ pattern: "^a" }, "a"],
    [{ items: { patternProperties: { a: true } } }, []],
    [{ properties: { a: { format: "email" } } }, {}],
    [{ $ref: "#/$defs/a", $defs: { a: true } }, 1],
    [{ $recursiveRef: "#" }, 1],
    [{ uniqueItems: true }, []],
    [{ unevaluatedProperties: false }, {}],
    [{ type: "string" }, "x".repeat(100_000)],
    [{ items: { allOf: Array(100).fill({}) } }, Array(1000).fill(0)],
  ])("with the schema %j can be slow, and runs in the sandbox", (schema, value) =>
    expect(isCheap(check(schema, value))).toBe(false),
  );

  it("sends all checks in one message, and reports an exceeded limit on the check that caused it", async () => {
    const sent: number[] = [];
    const run = createSchemaValidator(async ({ data, timeoutMs }) => {
      const checks = data as unknown as SchemaCheck[];
      sent.push(timeoutMs);
      return checks.some(({ value }) => value === "slow")
        ? { log: [], error: "code_timeout", message: "exceeds the time limit of 1 s" }
        : { log: [], output: checks.map((check) => (validateInProcess(check) ?? null) as Json) };
    });
    const schema = { pattern: "^a" };
    expect(
      await run([
        { schema, value: "a" },
        { schema, value: "b" },
      ]),
    ).toEqual([undefined, { keys: [], message: "must match the pattern ^a" }]);
    expect(sent).toEqual([1000]);
    const values = ["a", "slow", "a", "a"];
    expect(await run(values.map((value) => ({ schema, value })))).toEqual([
      undefined,
      {
        keys: [],
        isUnchecked: true,
        message:
          "validation exceeds the time limit of 1 s: shorten the value or simplify its schema",
      },
      undefined,
      undefined,
    ]);
    expect(sent).toEqual([1000, 1000, 250, 250]);
  });

  it("rejects a deeply nested value before it sends the value", async () => {
    const deep = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`);
    const run = createSchemaValidator(() => Promise.reject(new Error("not expected")));
    expect(await run([{ schema: { uniqueItems: true }, value: deep }])).toEqual([
      { keys: [], message: "must not be nested deeper than 200 levels" },
    ]);
  });
});

it("returns a truncated message if the schema is long", () => {
  const nested = Array.from({ length: 500 }).reduce<Json>((inner) => ({ anyOf: [inner, false] }), {
    const: "x".repeat(500_000),
  });
  expect(validate(nested as JsonSchema, 1)?.message).toHaveLength(2001);
});
