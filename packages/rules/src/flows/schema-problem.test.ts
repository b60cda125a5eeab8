import { describe, expect, it } from "vitest";
import type { Json } from "../json.ts";
import { schemaProblem } from "./schema-problem.ts";

const numbers = Array.from({ length: 5000 }, (_, nth) => nth);
const many = (name: string, amount: number, value: Json): Json =>
  Object.fromEntries(Array.from({ length: amount }, (_, nth) => [name + nth, value]));

describe("a schema that somebody wrote", () => {
  it.each<[Json, string]>([
    [[], "must be a JSON Schema as an object"],
    [{ type: "text" }, 'type: must be one of "string", "number"'],
    [{ type: ["string", "text"] }, "type: must be one of"],
    [{ properties: { a: { $ref: "#/x" } } }, "properties.a.$ref: is not allowed here"],
    [{ anyOf: [{}, { pattern: "(" }] }, "anyOf[1].pattern: is not a regular expression"],
    [{ items: { pattern: "a(?!b)" } }, "items.pattern: must not look ahead or behind"],
    [{ patternProperties: { "(a)\\1": true } }, "must not refer back to a group, as \\1 does"],
    [{ minLength: "x" }, "minLength: must be a number, but is a text"],
    [{ minLength: 1.5 }, "minLength: must be a whole number"],
    [{ maxItems: -1 }, "maxItems: must be at least 0"],
    [{ minimum: "1" }, "minimum: must be a number, but is a text"],
    [{ exclusiveMinimum: true }, "exclusiveMinimum: must be a number"],
    [{ multipleOf: 0 }, "multipleOf: must be more than 0"],
    [{ required: "a" }, "required: must be a list, but is a text"],
    [{ required: [1] }, "required[0]: must be a text, but is a number"],
    [{ enum: "a" }, "enum: must be a list, but is a text"],
    [{ pattern: 5 }, "pattern: must be a text, but is a number"],
    [{ properties: { a: 5 } }, "properties.a: must be true or false or an object"],
    [{ properties: [] }, "properties: must be an object, but is a list"],
    [{ not: { uniqueItems: 1 } }, "not.uniqueItems: must be true or false, but is a number"],
    [{ allOf: {} }, "allOf: must be a list, but is an object"],
    [{ allOf: Array(2000).fill({}) }, "must have at most 2000 schemas within it"],
    [{ allOf: Array(200).fill({ pattern: "a{900}" }) }, "has too many patterns"],
    [{ items: { patternProperties: many("k", 9000, true) } }, "items.patternProperties: it must"],
    [{ properties: { a: { enum: numbers } } }, "properties.a.enum: there must be at most 5000"],
    [{ const: many("k", 5000, 1) }, "const: there must be at most 5000 names and values"],
    [{ items: { const: [[numbers]] } }, "items.const: there must be at most 5000"],
    [{ required: Array(9000).fill("a") }, "required: there must be at most 5000"],
    [{ dependentRequired: { a: Array(9000).fill("a") } }, "dependentRequired: there must be"],
    [{ dependencies: { a: Array(9000).fill("a") } }, "dependencies.a: there must be at most 5000"],
    [{ not: { type: Array(8).fill("null") } }, "not.type: must list at most 7 types"],
    [{ type: ["null", "string", "null"] }, "type: must not list a type twice"],
    [{ pattern: "\\p{L}".repeat(31) }, "pattern: must have at most 30 classes of Unicode"],
    [{ patternProperties: { "\\p{No_Such}": true } }, "is not a regular expression"],
    [{ patternProperties: many("k", 1500, true) }, "patternProperties.k"],
  ])("%# is refused", (schema, words) => {
    expect(schemaProblem(schema)).toContain(words);
  });

  it("is told where it is too large", () => {
    expect(schemaProblem({ not: { const: numbers } })).toBe(
      "not.const: there must be at most 5000 names and values in a schema",
    );
  });

  it.each<[string, Json]>([
    [
      "may have properties and examples that look like keywords",
      {
        properties: { $ref: { type: "string" }, type: { enum: [{ type: "x" }] } },
        default: { $id: 1 },
        "x-of-ours": { minLength: "x" },
      },
    ],
    [
      "may be of an older draft",
      {
        type: ["array", "null"],
        items: [{ type: "string" }, true],
        additionalItems: false,
        dependencies: { a: ["b"], c: { minProperties: 2 } },
        definitions: { a: {} },
      },
    ],
    [
      "may be large",
      {
        properties: many("p", 900, { type: "string" }),
        required: numbers.slice(0, 900).map((nth) => `p${nth}`),
        patternProperties: many("^k", 300, true),
        enum: numbers.slice(0, 2000),
      },
    ],
    ["may have patterns", { pattern: "^[\\p{L}\\d]{1,100}(?:-\\w+)*$", minLength: 1 }],
  ])("%s", (_, schema) => {
    expect(schemaProblem(schema)).toBeUndefined();
  });
});
