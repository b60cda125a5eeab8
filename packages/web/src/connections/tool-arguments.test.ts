import { expect, it } from "vitest";
import { argumentProblems, initialArguments } from "./tool-arguments.ts";

const schema = {
  type: "object",
  properties: {
    city: { type: "string" },
    days: { type: "integer", maximum: 10 },
    hourly: { type: "boolean" },
    places: { type: "array", items: { type: "object", properties: { name: { type: "string" } } } },
  },
  required: ["city", "hourly"],
};

it("starts with required constants and booleans", () => {
  expect(initialArguments(schema)).toEqual({ hourly: false });
  const { properties } = schema;
  expect(
    initialArguments({ properties: { ...properties, kind: { const: "now" } }, required: ["kind"] }),
  ).toEqual({ kind: "now" });
});

it.each([
  [{}, { city: "is required", hourly: "is required" }],
  [{ city: "Bern", hourly: false }, {}],
  [{ city: "Bern", hourly: true, days: 12 }, { days: "must be at most 10, but is 12" }],
  [
    { city: "Bern", hourly: true, places: [{ name: 1 }] },
    { "places[0].name": "must be a string, but is a number" },
  ],
])("reports the problems of %j", (value, problems) =>
  expect(Object.fromEntries(argumentProblems(schema, value))).toEqual(problems),
);

it("does not validate an expensive schema", () => {
  const expensive = {
    type: "object",
    properties: { word: { type: "string", pattern: "^(a+)+$" } },
  };
  expect(argumentProblems(expensive, { word: 1 }).size).toBe(0);
});
