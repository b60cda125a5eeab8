import { expect, test } from "vitest";
import { layOut } from "./layout.ts";
import { edge, sampleGraph } from "./test-graph.ts";

test("what follows stands to the right, and no two tiles share a place", () => {
  const { nodes, edges } = sampleGraph();
  const spots = layOut({ nodes: nodes.map(({ id }) => ({ id, height: 74 })), edges });
  for (const { source, target } of edges)
    expect(spots[source]?.x).toBeLessThan(spots[target]?.x ?? 0);
  expect(new Set(Object.values(spots).map(({ x, y }) => `${x} ${y}`)).size).toBe(nodes.length);
});

test("an edge to a node that does not exist is ignored", () =>
  expect(layOut({ nodes: [{ id: "a", height: 74 }], edges: [edge("a", "gone")] })).toHaveProperty(
    "a",
  ));
