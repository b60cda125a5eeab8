import { expect, it } from "vitest";
import { simplifySchema } from "./simplify-schema.ts";

it("resolves references within the schema", () =>
  expect(
    simplifySchema({
      type: "object",
      properties: { unit: { $ref: "#/$defs/Unit", description: "How to measure." } },
      $defs: { Unit: { enum: ["metric", "imperial"], type: "string", description: "A unit." } },
    }).properties,
  ).toEqual({
    unit: { enum: ["metric", "imperial"], type: "string", description: "How to measure." },
  }));

it("removes null from values that may be null", () =>
  expect(
    simplifySchema({
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

it("stops if a schema refers to itself, or to nothing", () => {
  const tree = simplifySchema({
    type: "object",
    properties: { root: { $ref: "#/$defs/Node" }, lost: { $ref: "#/$defs/Nowhere" } },
    $defs: { Node: { type: "object", properties: { next: { $ref: "#/$defs/Node" } } } },
  });
  expect(JSON.stringify(tree).length).toBeLessThan(2_000);
  expect(tree).toMatchObject({ properties: { lost: {} } });
});

it("limits the number of subschemas", () => {
  const fields = Object.fromEntries(
    Array.from({ length: 50 }, (_, index) => [`field${index}`, { $ref: "#/$defs/Node" }]),
  );
  const wide = simplifySchema({
    type: "object",
    properties: fields,
    $defs: { Node: { type: "object", properties: fields } },
  });
  expect(JSON.stringify(wide.properties).split("field").length).toBeLessThan(2_500);
});
