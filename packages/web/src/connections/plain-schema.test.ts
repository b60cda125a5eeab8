import { expect, it } from "vitest";
import { plainSchema } from "./plain-schema.ts";

it("resolves references within the schema", () =>
  expect(
    plainSchema({
      type: "object",
      properties: { unit: { $ref: "#/$defs/Unit", description: "How to measure." } },
      $defs: { Unit: { enum: ["metric", "imperial"], type: "string", description: "A unit." } },
    }).properties,
  ).toEqual({
    unit: { enum: ["metric", "imperial"], type: "string", description: "How to measure." },
  }));

it("draws what may be null as what may be left out", () =>
  expect(
    plainSchema({
      type: "object",
      properties: {
        city: { anyOf: [{ type: "string" }, { type: "null" }], default: null, title: "City" },
        days: { type: ["integer", "null"], default: 3 },
        either: { anyOf: [{ type: "string" }, { type: "number" }] },
      },
    }).properties,
  ).toEqual({
    city: { type: "string", title: "City" },
    days: { type: "integer", default: 3 },
    either: { anyOf: [{ type: "string" }, { type: "number" }] },
  }));

it("ends where a schema contains itself, or refers to nothing", () => {
  const tree = plainSchema({
    type: "object",
    properties: { root: { $ref: "#/$defs/Node" }, lost: { $ref: "#/$defs/Nowhere" } },
    $defs: { Node: { type: "object", properties: { next: { $ref: "#/$defs/Node" } } } },
  });
  expect(JSON.stringify(tree).length).toBeLessThan(2_000);
  expect(tree).toMatchObject({ properties: { lost: {} } });
});

it("draws a limited number of fields", () => {
  const fields = Object.fromEntries(
    Array.from({ length: 50 }, (_, nth) => [`field${nth}`, { $ref: "#/$defs/Node" }]),
  );
  const wide = plainSchema({
    type: "object",
    properties: fields,
    $defs: { Node: { type: "object", properties: fields } },
  });
  expect(JSON.stringify(wide.properties).split("field").length).toBeLessThan(2_500);
});
