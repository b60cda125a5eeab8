import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  knownFields,
  labelOf,
  readJsonText,
  readNumberText,
  shapeOf,
  withField,
  writeJsonText,
} from "./schema-shape.ts";

const fieldsOf = (type: string): Record<string, string> => {
  const definition = nodeTypes.get(type);
  if (!definition) throw new Error(type);
  // As GET /api/node-types returns it.
  const { properties = {} } = z.toJSONSchema(definition.config, {
    io: "input",
    unrepresentable: "any",
  });
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, shapeOf(schema as JsonObject).is]),
  );
};

test("the fields of an HTTP request get the controls that suit them", () =>
  expect(fieldsOf("HttpRequest")).toEqual({
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

test("conditions are a list of rows", () =>
  expect(fieldsOf("Condition")).toEqual({ conditions: "list", combine: "choice" }));

test("every field of every type has a control", () => {
  for (const type of nodeTypes.keys()) expect(fieldsOf(type)).toBeTypeOf("object");
});

describe("text of any JSON", () => {
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
  ])("%j becomes %j", (text, value) => expect(readJsonText(text)).toEqual(value));
  test.each(["hello", "12", "true", "{{ a }}", '{"a":1}', 12, true, null, { a: [1] }, [], '"'])(
    "%j survives a round trip",
    (value) => expect(readJsonText(writeJsonText(value))).toEqual(value),
  );
});

test("a number may be a template", () => {
  expect(readNumberText("1.5")).toBe(1.5);
  expect(readNumberText("{{ a.n }}")).toBe("{{ a.n }}");
  expect(readNumberText(" ")).toBeUndefined();
});

test("an empty field is removed; the others keep their order", () => {
  expect(withField({ a: 1, b: 2 }, "a", undefined)).toEqual({ b: 2 });
  expect(Object.keys(withField({ a: 1, b: 2 }, "a", 3))).toEqual(["a", "b"]);
});

test("of another tool's arguments, those stay that its schema knows", () => {
  const value = { city: "Bern", days: 3 };
  expect(knownFields({ properties: { city: {} } }, value)).toEqual({ city: "Bern" });
  expect(knownFields({ properties: {}, additionalProperties: true }, value)).toEqual(value);
  expect(knownFields({}, value)).toEqual({});
  expect(knownFields({}, undefined)).toEqual({});
});

test("labels are words", () => {
  expect(labelOf("timeoutMs")).toBe("Timeout ms");
  expect(labelOf("client_id")).toBe("Client id");
});
