import { expect, test } from "vitest";
import { sampleInput } from "./sample-input.ts";
import { node } from "./test-graph.ts";

test("a tool: every parameter, with its default, its first value, or an empty one", () =>
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

test("an event trigger: an event that it matches", () =>
  expect(
    sampleInput(
      node("on", "Event", { source: "github", type: "issues", params: { action: "opened" } }),
    ),
  ).toEqual({ source: "github", type: "issues", data: { action: "opened" } }));

test("a schedule, and parameters that are not valid yet: nothing", () => {
  expect(sampleInput(node("at", "Schedule", { cron: "0 9 * * *" }))).toEqual({});
  expect(sampleInput(node("ask", "UserIntent", { parameters: [{ odd: 1 }] }))).toEqual({});
  expect(sampleInput(node("on", "Event"))).toEqual({});
});
