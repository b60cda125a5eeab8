import { expect, test } from "vitest";
import { pinsOfRun, pinsOfTest, triggerOf } from "./pins.ts";
import { sampleGraph } from "./test-graph.ts";

const graph = sampleGraph();
const pin = { output: 1 };
const pins = { ask: pin, fetch: pin, is_bug: pin, shape: pin, deleted: pin };

test("a run uses the pins of the nodes that it reaches", () =>
  expect(Object.keys(pinsOfRun(graph, pins, "ask"))).toEqual(["fetch", "is_bug"]));

test("a test of a step uses the pins before it, not its own", () =>
  expect(Object.keys(pinsOfTest(graph, pins, "ask", "is_bug"))).toEqual(["fetch"]));

test("a step is tested from a trigger that reaches it", () => {
  expect(triggerOf(graph, "answer", "opened")).toBe("ask");
  expect(triggerOf(graph, "shape", "opened")).toBe("opened");
  expect(triggerOf({ ...graph, edges: [] }, "shape")).toBeUndefined();
});
