import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../lib/json.ts";
import { checkAgainst, schemaProblem } from "./json-schema.ts";

describe("a value against a schema", () => {
  it.each<[Json & object, Json, string[], string]>([
    [{ type: "string" }, 5, [], "must be string, but is number"],
    [{ enum: ["a", "b"] }, "c", [], 'must be one of "a", "b"'],
    [{ type: "string", format: "email" }, "x", [], "must be as the format email has it"],
    [
      { type: "array", items: { type: "string" } },
      ["a", 2],
      ["1"],
      "must be string, but is number",
    ],
    [
      { properties: { "a/b~c": { properties: { d: { minimum: 3 } } } } },
      { "a/b~c": { d: 1 } },
      ["a/b~c", "d"],
      "1 is less than 3",
    ],
    [{ required: ["p"] }, {}, [], "lacks p"],
    [{ properties: {}, additionalProperties: false }, { q: 1 }, ["q"], "is not known here"],
    [{ pattern: "(" }, "x", [], "its schema is broken: "],
  ])("%j and %j", (schema, value, keys, words) => {
    const error = checkAgainst(schema as { [key: string]: Json }, value);
    expect(error?.keys).toEqual(keys);
    expect(error?.message).toContain(words);
  });

  it("fits", () => {
    const schema = { type: "object", properties: { n: { type: "integer" } } };
    expect(checkAgainst(schema, { n: 3 })).toBeUndefined();
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
        checkAgainst(schema as { [key: string]: Json }, value as Json);
      }),
    );
  });
});

describe("a schema that somebody wrote", () => {
  it.each<[Json, string]>([
    [[], "must be a JSON Schema as an object"],
    [{ type: "text" }, "(all of it): type must be one of"],
    [{ properties: { a: { $ref: "#/x" } } }, "properties.a: must not use $ref or $id"],
    [{ anyOf: [{ pattern: "(" }] }, "anyOf: pattern is not a regular expression"],
  ])("%j is refused", (schema, words) => {
    expect(schemaProblem(schema)).toContain(words);
  });

  it("may have properties and examples that look like keywords", () => {
    const schema = {
      properties: { $ref: { type: "string" }, type: { enum: [{ type: "x" }] } },
      default: { $id: 1 },
    };
    expect(schemaProblem(schema)).toBeUndefined();
  });
});
