import { expect, test } from "vitest";
import { routeFrom } from "./route.ts";
import { sampleGraph } from "./test-graph.ts";

test("the route of a trigger has the nodes that it reaches, and the edges among them", () => {
  const { nodes, edges } = routeFrom(sampleGraph(), "ask");
  expect([...nodes]).toEqual(["ask", "fetch", "is_bug", "answer"]);
  expect([...edges]).toEqual(["ask-out-fetch", "fetch-out-is_bug", "is_bug-true-answer"]);
});
