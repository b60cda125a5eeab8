import { expect, test } from "vitest";
import { pinsOfRun, pinsOfTest, triggerOf } from "./pins.ts";
import { sampleGraph } from "./test-graph.ts";

const graph = sampleGraph();
const pin = { output: 1 };
const pins = { ask: pin, fetch: pin, is_bug: pin, shape: pin, deleted: pin };

test("uses the pins of the nodes that the run reaches", () =>
  expect(Object.keys(pinsOfRun(graph, pins, "ask"))).toEqual(["fetch", "is_bug"]));

test("uses the pins of the nodes before the tested node, not its own pin", () =>
  expect(Object.keys(pinsOfTest(graph, pins, "ask", "is_bug"))).toEqual(["fetch"]));

test("finds a trigger that reaches the tested node", () => {
  expect(triggerOf(graph, "answer", "opened")).toBe("ask");
  expect(triggerOf(graph, "shape", "opened")).toBe("opened");
  expect(triggerOf({ ...graph, edges: [] }, "shape")).toBeUndefined();
});
