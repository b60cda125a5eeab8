import { expect, test } from "vitest";
import { sampleInput } from "./sample-input.ts";
import { node } from "./test-graph.ts";

test("returns every parameter of a tool, with its default, its first allowed value, or an empty value", () =>
  expect(
    sampleInput(
      node("ask", "UserIntent", {
        toolDescription: "Asks.",
        parameters: [
          { name: "who", type: "string" },
          { name: "count", type: "integer" },
          { name: "size", type: "enum", enum: ["small", "large"] },
          { name: "unit", type: "string", default: "celsius" },
        ],
      }),
    ),
  ).toEqual({ who: "", count: 0, size: "small", unit: "celsius" }));

test("returns an event that the event trigger matches", () =>
  expect(
    sampleInput(
      node("on", "Event", { source: "github", type: "issues", params: { action: "opened" } }),
    ),
  ).toEqual({ source: "github", type: "issues", data: { action: "opened" } }));

test("returns an empty object for a schedule, and for parameters that are not valid yet", () => {
  expect(sampleInput(node("at", "Schedule", { cron: "0 9 * * *" }))).toEqual({});
  expect(sampleInput(node("ask", "UserIntent", { parameters: [{ odd: 1 }] }))).toEqual({});
  expect(sampleInput(node("on", "Event"))).toEqual({});
});
