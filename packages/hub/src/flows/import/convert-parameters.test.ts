import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import { inputSchema, parametersSchema } from "@signalbox/rules/flows/parameters.ts";
import { validateFlow } from "@signalbox/rules/flows/validate.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { describe, expect, it } from "vitest";
import { convertParameters } from "./convert-parameters.ts";
import { importFlow } from "./import-flow.ts";

function convert(value: Json) {
  const notes: string[] = [];
  return { converted: convertParameters(value, (note) => notes.push(note)), notes };
}
const schemaOf = (value: Json) => inputSchema(parametersSchema.parse(convert(value).converted));

describe("an object of parameters", () => {
  it("becomes a list with the declared fields", () => {
    const { converted, notes } = convert({
      city: { type: "string", required: true, description: "Such as Bern" },
      days: { type: "int", required: 0, default: 3 },
      unit: { type: "enum", enum: ["C", "F"], optional: true },
      level: { enum: ["low", "high"] },
      tags: { type: "array", items: { type: "string" }, required: "false" },
      when: { type: "string", format: "date-time", required: false },
      note: "Text",
      range: { type: "object", properties: { from: { type: "number" } }, required: ["from"] },
      zip: { type: "string", pattern: "^\\d+$", required: true },
      name: { name: "name", description: "Of the city" },
      state: { type: "string", description: null, required: null, default: null },
    });
    expect(converted).toEqual([
      { name: "city", type: "string", description: "Such as Bern", optional: false },
      { name: "days", type: "integer", default: 3, optional: true },
      { name: "unit", type: "enum", enum: ["C", "F"], optional: true },
      { name: "level", type: "enum", enum: ["low", "high"] },
      { name: "tags", type: "array", items: "string", optional: true },
      { name: "when", type: "string", format: "date-time", optional: true },
      { name: "note", type: "string" },
      {
        name: "range",
        schema: { type: "object", properties: { from: { type: "number" } }, required: ["from"] },
      },
      { name: "zip", schema: { type: "string", pattern: "^\\d+$" }, optional: false },
      { name: "name", type: "string", description: "Of the city" },
      { name: "state", type: "string" },
    ]);
    expect(parametersSchema.safeParse(converted).error).toBeUndefined();
    expect(notes).toEqual(["parameters: was an object; each property is now a parameter."]);
  });

  it("can have parameters that are named like keywords of JSON Schema", () => {
    expect(schemaOf({ properties: { type: "string" }, type: { enum: ["a"] } })).toMatchObject({
      properties: { properties: { type: "string" }, type: { enum: ["a"] } },
      required: ["properties", "type"],
    });
  });
});

describe("a JSON Schema", () => {
  it("becomes a list with equivalent schemas", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        city: { type: "string", description: "Such as Bern" },
        days: { type: "integer", default: 3 },
        any: {},
        size: { type: ["string", "null"] },
        place: { $ref: "#/$defs/place" },
      },
      required: ["city", "undescribed"],
      $defs: { place: { type: "object" } },
      additionalProperties: false,
    };
    expect(convert(schema).converted).toEqual([
      { name: "city", type: "string", description: "Such as Bern", optional: false },
      { name: "days", type: "integer", default: 3, optional: true },
      { name: "any", schema: {}, optional: true },
      { name: "size", schema: { type: ["string", "null"] }, optional: true },
      {
        name: "place",
        schema: { $ref: "#/$defs/place", $defs: { place: { type: "object" } } },
        optional: true,
      },
      { name: "undescribed", schema: {}, optional: false },
    ]);
    expect(schemaOf(schema).required).toEqual(["city", "undescribed"]);
  });

  it("can have no properties", () => {
    expect(convert({ type: "object" }).converted).toEqual([]);
    expect(convert({ type: "object", properties: {} }).converted).toEqual([]);
  });
});

describe("parameters that are not clear", () => {
  it.each<[string, Json, string, string]>([
    ["a text", "city", "parameters", 'parameters: "city" is neither'],
    [
      "a schema of another type",
      { type: "string" },
      "parameters",
      'parameters: {"type":"string"} is neither',
    ],
    [
      "a schema with alternatives",
      { type: "object", anyOf: [{ required: ["a"] }], properties: { a: {} } },
      "parameters",
      'parameters: {"type":"object","anyOf"',
    ],
    [
      "an unknown type",
      { city: { type: "string" }, day: { type: "date" } },
      "parameters[1].type",
      'parameters.day: {"type":"date"} does not describe a parameter',
    ],
    ["a description", { city: "Such as Bern" }, "parameters[0].type", "parameters.city: "],
    ["null", { city: null }, "parameters[0].type", "parameters.city: null"],
    [
      "another name",
      { first: { name: "city", type: "string" } },
      "parameters[0].type",
      "parameters.first: ",
    ],
  ])("such as %s stay, with a note and an error", (_, parameters, path, note) => {
    const flow = {
      name: "Weather",
      toolName: "weather",
      toolDescription: "x",
      parameters,
      nodes: [{ id: "u", type: "UserIntent", name: "Ask" }],
      connections: [],
    };
    const imported = importFlow(flow, { newId: () => "new" });
    if (imported.outcome !== "imported") throw new Error("invalid");
    expect(imported.notes.filter((text) => text.startsWith(`Ask: ${note}`))).toHaveLength(1);
    expect(validateFlow(imported.flow, nodeTypes).errors).toMatchObject([
      { code: "invalid_config", path },
    ]);
  });
});

it("of a later trigger are converted too", () => {
  const tool = { toolName: "weather", toolDescription: "x", parameters: { city: "string" } };
  const imported = importFlow(
    {
      name: "x",
      nodes: [{ id: "u", type: "UserIntent", name: "Ask", parameters: tool }],
      connections: [],
    },
    { newId: () => "new" },
  );
  expect(imported).toMatchObject({
    flow: { nodes: [{ parameters: { parameters: [{ name: "city", type: "string" }] } }] },
    notes: ["Ask: parameters: was an object; each property is now a parameter."],
  });
});
