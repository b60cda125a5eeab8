import { expect, test } from "vitest";
import { routeFrom } from "./route.ts";
import { sampleGraph } from "./test-graph.ts";

test("returns the nodes that a trigger reaches, and the edges between them", () => {
  const { nodes, edges } = routeFrom(sampleGraph(), "ask");
  expect([...nodes]).toEqual(["ask", "fetch", "is_bug", "answer"]);
  expect([...edges]).toEqual(["ask-out-fetch", "fetch-out-is_bug", "is_bug-true-answer"]);
});
