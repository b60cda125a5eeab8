import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  labelOf,
  pickKnownFields,
  readJsonText,
  readNumberText,
  shapeOf,
  withField,
  writeJsonText,
} from "./schema-shape.ts";

const shapesOf = (type: string): Record<string, string> => {
  const definition = nodeTypes.get(type);
  if (!definition) throw new Error(type);
  // The JSON Schema as GET /api/node-types returns it.
  const { properties = {} } = z.toJSONSchema(definition.config, {
    io: "input",
    unrepresentable: "any",
  });
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, shapeOf(schema as JsonObject).is]),
  );
};

test("derives the shape of each field of an HTTP request", () =>
  expect(shapesOf("HttpRequest")).toEqual({
    method: "choice",
    url: "text",
    query: "record",
    headers: "record",
    auth: "variants",
    body: "variants",
    timeoutMs: "number",
    maxBytes: "number",
    redirects: "number",
    failures: "json",
  }));

test("derives a list for the conditions of a Condition", () =>
  expect(shapesOf("Condition")).toEqual({ conditions: "list", combine: "choice" }));

test("derives shapes for the fields of every node type", () => {
  for (const type of nodeTypes.keys()) expect(shapesOf(type)).toBeTypeOf("object");
});

describe("JSON text", () => {
  test.each([
    ["{{ fetch.body }}", "{{ fetch.body }}"],
    ["hello", "hello"],
    ["12", 12],
    ["true", true],
    ['{"a": 1}', { a: 1 }],
    ['{"a": ', '{"a": '],
    ['"12"', "12"],
    ["", undefined],
    ["true story", "true story"],
  ])("reads %j as %j", (text, value) => expect(readJsonText(text)).toEqual(value));
  test.each(["hello", "12", "true", "{{ a }}", '{"a":1}', 12, true, null, { a: [1] }, [], '"'])(
    "writes %j so that it is read as the same value",
    (value) => expect(readJsonText(writeJsonText(value))).toEqual(value),
  );
});

test("reads a number, a template, or nothing from the text of a number field", () => {
  expect(readNumberText("1.5")).toBe(1.5);
  expect(readNumberText("{{ a.n }}")).toBe("{{ a.n }}");
  expect(readNumberText(" ")).toBeUndefined();
});

test("removes an undefined field, and keeps the order of the others", () => {
  expect(withField({ a: 1, b: 2 }, "a", undefined)).toEqual({ b: 2 });
  expect(Object.keys(withField({ a: 1, b: 2 }, "a", 3))).toEqual(["a", "b"]);
});

test("picks the fields that the schema defines, or all if it allows additional properties", () => {
  const value = { city: "Bern", days: 3 };
  expect(pickKnownFields({ properties: { city: {} } }, value)).toEqual({ city: "Bern" });
  expect(pickKnownFields({ properties: {}, additionalProperties: true }, value)).toEqual(value);
  expect(pickKnownFields({}, value)).toEqual({});
  expect(pickKnownFields({}, undefined)).toEqual({});
});

test("splits names into the words of a label", () => {
  expect(labelOf("timeoutMs")).toBe("Timeout ms");
  expect(labelOf("client_id")).toBe("Client id");
});
