import { expect, test } from "vitest";
import { layOut } from "./layout.ts";
import { edge, sampleGraph } from "./test-graph.ts";

test("places each node to the right of the nodes before it, and no two nodes at the same position", () => {
  const { nodes, edges } = sampleGraph();
  const positions = layOut({ nodes: nodes.map(({ id }) => ({ id, height: 74 })), edges });
  for (const { source, target } of edges)
    expect(positions[source]?.x).toBeLessThan(positions[target]?.x ?? 0);
  expect(new Set(Object.values(positions).map(({ x, y }) => `${x} ${y}`)).size).toBe(nodes.length);
});

test("ignores an edge to a node that does not exist", () =>
  expect(layOut({ nodes: [{ id: "a", height: 74 }], edges: [edge("a", "gone")] })).toHaveProperty(
    "a",
  ));
