import { describe, expect, test } from "vitest";
import { gistOf } from "./gist.ts";
import { inPortsOf, outPortsOf } from "./node-kinds.ts";
import { plateOf } from "./plates.ts";
import { node } from "./test-graph.ts";

describe("the plate below a trigger", () => {
  const plate = (type: string, parameters = {}) => plateOf(node("Get Weather", type, parameters));
  test("shows the tool name that the hub has assigned", () =>
    expect(plate("UserIntent", { toolName: "get_weather_2" })?.text).toBe("get_weather_2"));
  test("shows a tool name derived from the name of the node until the hub has assigned one", () =>
    expect(plate("UserIntent")).toEqual({ kind: "tool", text: "get_weather" }));
  test("shows the source and the type of events", () =>
    expect(plate("Event", { source: "github", type: "issues" })?.text).toBe("github · issues"));
  test("shows the cron expression of a schedule", () =>
    expect(plate("Schedule", { cron: "0 9 * * 1" })?.text).toBe("0 9 * * 1"));
  test("does not exist for other nodes", () => expect(plate("Return")).toBeUndefined());
});

describe("the gist of a node", () => {
  const gist = (type: string, parameters: Parameters<typeof node>[2]) =>
    gistOf(node("x", type, parameters));
  test.each([
    [
      "UserIntent",
      { parameters: [{ name: "repo" }, { name: "since", optional: true }] },
      "repo, since?",
    ],
    [
      "Event",
      { params: { action: "opened" }, filter: "data.n > 5" },
      "action = opened, data.n > 5",
    ],
    ["HttpRequest", { method: "POST", url: "https://api.example.com/x" }, "POST api.example.com/x"],
    ["Condition", { conditions: [{ left: "{{ a }}", op: "eq", right: 1 }] }, "{{ a }} eq 1"],
    ["Return", { value: { labelled: 1, url: 2 } }, "{ labelled, url }"],
    ["Transform", { expression: "$sum(\n items)" }, "$sum( items)"],
  ])("summarizes the parameters of %s", (type, parameters, text) =>
    expect(gist(type, parameters)).toBe(text),
  );
  test("is a string even if parameters have the wrong type", () => {
    for (const type of ["UserIntent", "Event", "Condition", "Return", "HttpRequest"])
      expect(gist(type, { parameters: 3, params: [], conditions: "x", url: {} })).toBeTypeOf(
        "string",
      );
  });
});

describe("ports", () => {
  test("are those of the node type, with `error` last", () =>
    expect(outPortsOf(node("x", "Condition"))).toEqual(["true", "false", "error"]));
  test("do not include an input or `error` for triggers", () => {
    expect(inPortsOf(node("x", "Event"))).toEqual([]);
    expect(outPortsOf(node("x", "Event"))).toEqual(["out"]);
  });
  test("are `out` and `error` for an unknown type", () =>
    expect(outPortsOf(node("x", "Unknown"))).toEqual(["out", "error"]));
});
