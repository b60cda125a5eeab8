import { describe, expect, test } from "vitest";
import { gistOf } from "./gist.ts";
import { inPortsOf, outPortsOf } from "./node-kinds.ts";
import { plateOf } from "./plates.ts";
import { node } from "./test-graph.ts";

describe("the plate below a trigger", () => {
  const plate = (type: string, parameters = {}) => plateOf(node("Get Weather", type, parameters));
  test("is the assigned tool name", () =>
    expect(plate("UserIntent", { toolName: "get_weather_2" })?.text).toBe("get_weather_2"));
  test("is the derived one until the hub has assigned it", () =>
    expect(plate("UserIntent")).toEqual({ kind: "tool", text: "get_weather" }));
  test("is the source and type of an event", () =>
    expect(plate("Event", { source: "github", type: "issues" })?.text).toBe("github · issues"));
  test("is the times of a schedule", () =>
    expect(plate("Schedule", { cron: "0 9 * * 1" })?.text).toBe("0 9 * * 1"));
  test("other nodes have none", () => expect(plate("Return")).toBeUndefined());
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
  ])("%s", (type, parameters, text) => expect(gist(type, parameters)).toBe(text));
  test("of values of the wrong type does not fail", () => {
    for (const type of ["UserIntent", "Event", "Condition", "Return", "HttpRequest"])
      expect(gist(type, { parameters: 3, params: [], conditions: "x", url: {} })).toBeTypeOf(
        "string",
      );
  });
});

describe("ports", () => {
  test("are those of the type, with error last", () =>
    expect(outPortsOf(node("x", "Condition"))).toEqual(["true", "false", "error"]));
  test("triggers have no input and no error", () => {
    expect(inPortsOf(node("x", "Event"))).toEqual([]);
    expect(outPortsOf(node("x", "Event"))).toEqual(["out"]);
  });
  test("an unknown type can still be connected", () =>
    expect(outPortsOf(node("x", "Nobody"))).toEqual(["out", "error"]));
});
