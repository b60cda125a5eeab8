import { describe, expect, it } from "vitest";
import type { Json } from "../json.ts";
import { schemaProblem } from "./schema-problem.ts";

const numbers = Array.from({ length: 5000 }, (_, index) => index);
const numbered = (name: string, count: number, value: Json): Json =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [name + index, value]));

describe("the schema of an author", () => {
  it.each<[Json, string]>([
    [[], "must be a JSON Schema that is an object"],
    [{ type: "text" }, 'type: must be one of "string", "number"'],
    [{ type: ["string", "text"] }, "type: must be one of"],
    [{ properties: { a: { $ref: "#/x" } } }, "properties.a.$ref: must point to a schema"],
    [{ $ref: "#/required/0", required: ["a"] }, "$ref: must point to a schema"],
    [{ $ref: "https://example.com/a.json" }, "$ref: must be a pointer within the schema"],
    [{ $ref: "#name" }, "$ref: must be a pointer within the schema"],
    [{ items: { $id: "a" } }, "items.$id: is not supported: use $ref"],
    [{ $anchor: "a" }, "$anchor: is not supported: use $ref"],
    [{ anyOf: [{}, { pattern: "(" }] }, "anyOf[1].pattern: must be a regular expression"],
    [{ minLength: "x" }, "minLength: must be a number, but is a string"],
    [{ minLength: 1.5 }, "minLength: must be an integer"],
    [{ maxItems: -1 }, "maxItems: must be at least 0"],
    [{ minimum: "1" }, "minimum: must be a number, but is a string"],
    [{ exclusiveMinimum: true }, "exclusiveMinimum: must be a number"],
    [{ multipleOf: 0 }, "multipleOf: must be more than 0"],
    [{ required: "a" }, "required: must be an array, but is a string"],
    [{ required: [1] }, "required[0]: must be a string, but is a number"],
    [{ enum: "a" }, "enum: must be an array, but is a string"],
    [{ pattern: 5 }, "pattern: must be a string, but is a number"],
    [{ properties: { a: 5 } }, "properties.a: must be a boolean or an object"],
    [{ properties: [] }, "properties: must be an object, but is an array"],
    [{ not: { uniqueItems: 1 } }, "not.uniqueItems: must be a boolean, but is a number"],
    [{ allOf: {} }, "allOf: must be an array, but is an object"],
    [{ enum: numbers.concat(numbers, numbers) }, "must have at most 64000 characters as JSON"],
    [{ properties: numbered("k", 9000, true) }, "must have at most 64000 characters as JSON"],
    [{ not: { type: Array(8).fill("null") } }, "not.type: must not list a type twice"],
    [{ type: ["null", "string", "null"] }, "type: must not list a type twice"],
    [{ pattern: "\\p{L}".repeat(100) }, "must use at most 100 Unicode classes such as \\p{L}"],
    [{ patternProperties: { "\\p{No_Such}": true } }, "must be a regular expression"],
  ])("is rejected with the message: $1", (schema, message) => {
    expect(schemaProblem(schema)).toContain(message);
  });

  it.each<[string, Json]>([
    [
      "can have properties and unknown keywords whose content looks like a schema",
      {
        properties: { $ref: { type: "string" }, type: { enum: [{ type: "x" }] } },
        default: { $id: 1 },
        "x-custom": { minLength: "x" },
      },
    ],
    [
      "can use an earlier draft",
      {
        type: ["array", "null"],
        items: [{ type: "string" }, true],
        additionalItems: false,
        dependencies: { a: ["b"], c: { minProperties: 2 } },
        definitions: { a: {} },
      },
    ],
    [
      "can be large",
      {
        properties: numbered("p", 900, { type: "string" }),
        required: numbers.slice(0, 900).map((number) => `p${number}`),
        patternProperties: numbered("^k", 300, true),
        enum: numbers.slice(0, 2000),
      },
    ],
    ["can have references", { $ref: "#/$defs/a~1b", $defs: { "a/b": { items: { $ref: "#" } } } }],
    [
      "can have lookaheads and backreferences",
      { pattern: "a(?!b)", patternProperties: { "(a)\\1": true } },
    ],
    ["can have patterns", { pattern: "^[\\p{L}\\d]{1,100}(?:-\\w+)*$", minLength: 1 }],
  ])("%s", (_, schema) => {
    expect(schemaProblem(schema)).toBeUndefined();
  });
});
