import { CfWorkerJsonSchemaValidator } from "@modelcontextprotocol/server/validators/cf-worker";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonSchema } from "../json.ts";
import { checkAgainst, createCheck } from "./json-schema.ts";
import { schemaProblem } from "./schema-problem.ts";

const TOO_MUCH = "is too much to check: make it shorter, or its schema simpler";
const nest = (around: (inner: Json) => Json, inner: Json): JsonSchema =>
  Array.from({ length: 400 }, () => around).reduce((all, one) => one(all), inner) as JsonSchema;
const people = { allOf: [{ properties: { name: {} } }], unevaluatedProperties: false };

describe("a value against a schema", () => {
  it.each<[Json & object, Json, string[], string]>([
    [{ type: "string" }, 5, [], "must be string, but is number"],
    [{ type: ["string", "null"] }, [], [], "must be string or null, but is array"],
    [{ enum: ["a", "b"] }, "c", [], 'must be one of "a", "b"'],
    [{ const: { a: [1] } }, { a: [2] }, [], 'must be {"a":[1]}'],
    [{ type: "string", format: "email" }, "x", [], "must be as the format email has it"],
    [{ format: "url" }, "x:y", [], "must be as the format url has it"],
    [{ format: "uri" }, "a:".repeat(60_000), [], "must have at most 100000 characters to be a uri"],
    [{ format: "url" }, `http://${"é".repeat(1001)}`, [], "must be as the format url has it"],
    [{ format: "url" }, `http://\t/${"é".repeat(1001)}`, [], "must be as the format url has it"],
    [{ format: "regex" }, "(", [], "must be as the format regex has it"],
    [{ format: "regex" }, "\\p{L}".repeat(31), [], "must be as the format regex has it"],
    [{ format: "regex" }, "a".repeat(2001), [], "must have at most 2000 characters to be a regex"],
    [{ pattern: "^a+$" }, "ab", [], "must fit the pattern ^a+$"],
    [{ minLength: 2 }, "😀", [], "must have at least 2 characters, but has 1"],
    [{ maxLength: 1 }, "😀😀", [], "must have at most 1 character, but has 2"],
    [{ type: "array", items: { type: "string" } }, ["a", 2], ["1"], "must be string"],
    [{ prefixItems: [{}], items: false }, [1, 2], ["1"], "is not known here"],
    [{ items: [{}], additionalItems: false }, [1, 2], ["1"], "is not known here"],
    [{ contains: { const: 1 } }, [2], [], "must have at least 1 item, but has 0 that fit"],
    [{ contains: {}, maxContains: 1 }, [2, 3], [], "must have at most 1 item, but has 2 that fit"],
    [{ uniqueItems: true }, [1, { a: 1, b: 2 }, { b: 2, a: 1 }], [], "twice, as at 1 and 2"],
    [{ prefixItems: [{}], unevaluatedItems: false }, [1, 2], ["1"], "is not known here"],
    [
      { properties: { "a/b~c": { properties: { d: { minimum: 3 } } } } },
      { "a/b~c": { d: 1 } },
      ["a/b~c", "d"],
      "must be at least 3, but is 1",
    ],
    [{ exclusiveMaximum: 3 }, 3, [], "must be less than 3, but is 3"],
    [{ multipleOf: 0.1 }, 0.35, [], "must be a multiple of 0.1, but is 0.35"],
    [{ required: ["p"] }, {}, [], "lacks p"],
    [{ dependentRequired: { a: ["b"] } }, { a: 1 }, [], "lacks b"],
    [{ dependencies: { a: { required: ["b"] } } }, { a: 1 }, [], "lacks b"],
    [{ propertyNames: { maxLength: 1 } }, { ab: 1 }, ["ab"], "as a name must have at most 1"],
    [{ properties: {}, additionalProperties: false }, { q: 1 }, ["q"], "is not known here"],
    [{ patternProperties: { "^x": { type: "null" } } }, { x1: 1 }, ["x1"], "must be null"],
    [people, { name: "x", age: 1 }, ["age"], "is not known here"],
    [
      { anyOf: [{ type: "string" }, { type: "null" }] },
      1,
      [],
      "must be string, but is number, or must be null, but is number",
    ],
    [{ oneOf: [{ type: "null" }, { items: { minimum: 2 } }] }, [1], ["0"], "must be at least 2"],
    [{ oneOf: [{}, {}] }, 1, [], "fits 2 of the schemas in oneOf, not one"],
    [{ not: {} }, 1, [], "must not fit the schema in not"],
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword.
    [{ if: { type: "string" }, then: { minLength: 2 }, else: false }, "a", [], "at least 2"],
    [{ if: { type: "string" }, else: false }, 1, [], "is not known here"],
    [{ pattern: "(" }, "x", [], "its schema is broken: its pattern is not a regular expression"],
    [{ items: { $ref: "#" } }, [1], [], "its schema is broken: it must not use $ref"],
  ])("%#", (schema, value, keys, words) => {
    const error = checkAgainst(schema as JsonSchema, value);
    expect(error?.keys).toEqual(keys);
    expect(error?.message).toContain(words);
  });

  it.each<[Json & object, Json]>([
    [{ type: "object", properties: { n: { type: "integer" } } }, { n: 3 }],
    [{ format: "url" }, "https://example.com/a?b"],
    [{ format: "url" }, "https://müller.example/a?b"],
    [{ format: "regex" }, "^(?!a)(?<b>\\p{L})\\k<b>$"],
    [{ format: "of-ours" }, "x".repeat(200_000)],
    [{ format: "__proto__" }, "x"],
    [{ multipleOf: 0.1 }, 0.3],
    [people, { name: "x" }],
    [{ uniqueItems: true }, [1, "1", [1], { a: 1 }, { a: "1" }, null, "null"]],
    [{ contains: { const: 1 }, minContains: 0 }, []],
  ])("%j fits %j", (schema, value) => {
    expect(checkAgainst(schema as JsonSchema, value)).toBeUndefined();
  });

  it("never throws, whatever stands for a schema", () => {
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
        checkAgainst(schema as JsonSchema, value as Json);
      }),
    );
  });

  it("fits where another validator says so", () => {
    const other = new CfWorkerJsonSchemaValidator({ draft: "2020-12" });
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
      fc.property(schema, value, (any, one) => {
        fc.pre(typeof any === "object");
        expect(schemaProblem(any)).toBeUndefined();
        const theirs = other.getValidator(structuredClone(any) as object)(one).valid;
        expect(checkAgainst(any as JsonSchema, one) === undefined).toBe(theirs);
      }),
      { numRuns: 300 },
    );
  });
});

describe("a check that would take too long ends", () => {
  const numbers = Array.from({ length: 50_000 }, (_, nth) => nth);
  it.each<[string, JsonSchema, Json]>([
    ["of a pattern", { pattern: "(?:a|b)*a(?:a|b){300}$" }, "ab".repeat(50_000)],
    ["of many texts", { items: { pattern: "^(a+)+$" } }, Array(10_000).fill("a".repeat(50))],
    [
      "of many texts by a large pattern",
      { items: { pattern: "^(?:a|b{3000})" } },
      Array(20_000).fill("a"),
    ],
    ["of many names", { patternProperties: { "(x+)+$": {} } }, { ["x".repeat(500_000)]: 1 }],
    ["of many schemas", { allOf: Array(1000).fill({ items: { minimum: 0 } }) }, numbers],
    ["of long enums", { items: { enum: [...numbers].reverse() } }, numbers],
    [
      "of long enums that need not fit",
      { contains: { enum: [...numbers, "x"] } },
      numbers.map((n) => -n - 1),
    ],
    ["of items", { allOf: Array(1000).fill({ uniqueItems: true }) }, numbers],
    [
      "of deep items",
      { uniqueItems: true },
      [JSON.parse(`${"[".repeat(1000)}"${"x".repeat(100_000)}"${"]".repeat(1000)}`), 1],
    ],
    ["of lengths", { allOf: Array(1000).fill({ minLength: 1 }) }, "x".repeat(500_000)],
    [
      "of what lies deep",
      {
        contains: nest(
          (inner) => ({ anyOf: [inner] }),
          nest((items) => ({ items }), false),
        ),
      },
      Array(100).fill(nest((inner) => [inner], 0)),
    ],
    [
      "of what others have seen",
      { ...nest((inner) => ({ allOf: [inner] }), { items: true }), unevaluatedItems: false },
      numbers.slice(0, 3000),
    ],
    ["of decimal numbers", { items: { multipleOf: 5e-324 } }, numbers],
    [
      "of long items",
      { uniqueItems: true },
      numbers.slice(0, 400).map((nth) => `${"x".repeat(20_000)}${nth + 1000}`),
    ],
    [
      "of long texts",
      { contains: { enum: Array(300).fill(`${"x".repeat(100_000)}a`) } },
      Array(300).fill(`${"x".repeat(100_000)}b`),
    ],
    [
      "of hosts in other letters",
      { items: { format: "url" } },
      Array(2000).fill(`http://${"\u4e00".repeat(900)}`),
    ],
    ["of formats", { allOf: Array(1000).fill({ format: "uri" }) }, `a:${"x".repeat(90_000)}`],
  ])("%s", (_, schema, value) => {
    expect(checkAgainst(schema, value)).toEqual({ keys: [], message: TOO_MUCH });
  });

  it("but not one that is only large", () => {
    const names = Object.fromEntries(numbers.slice(0, 800).map((nth) => [`k${nth}`, true]));
    const objects = Array.from({ length: 5000 }, () => ({}));
    for (const part of [{ patternProperties: names }, { not: { const: names } }])
      expect(checkAgainst({ items: part }, objects)).toBeUndefined();
    expect(checkAgainst({ uniqueItems: true, items: { minimum: 0 } }, numbers)).toBeUndefined();
    expect(checkAgainst({ pattern: "^[a-z]+$" }, "x".repeat(200_000))).toBeUndefined();
  });

  it("also where it is one of many", () => {
    const check = createCheck(1000);
    expect(check({ items: true }, Array(80).fill(1))).toBeUndefined();
    expect(check({ items: true }, Array(80).fill(1))?.message).toBe(TOO_MUCH);
  });

  it("in words that are no longer than somebody reads", () => {
    const nested = numbers
      .slice(0, 500)
      .reduce<Json>((inner) => ({ anyOf: [inner, false] }), { const: "x".repeat(500_000) });
    expect(checkAgainst(nested as JsonSchema, 1)?.message).toHaveLength(2001);
  });

  it("where a value is nested deeper than there is room for", () => {
    const deep = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`);
    expect(checkAgainst({ uniqueItems: true }, [deep, deep])?.message).toMatch(
      /^is (?:nested too deep|too much)/,
    );
  });
});
