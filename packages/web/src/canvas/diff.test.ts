import { expect, test } from "vitest";
import { diffOf } from "./diff.ts";
import { edge, node, sampleGraph } from "./test-graph.ts";

test("a draft as published has no changes, wherever its nodes stand", () => {
  const draft = sampleGraph();
  const moved = draft.nodes.map((each) => ({ ...each, position: { x: 9, y: 9 } }));
  expect(diffOf({ ...draft, nodes: moved }, sampleGraph()).count).toBe(0);
});

test("added, changed and removed nodes and new edges are told apart", () => {
  const published = sampleGraph();
  const nodes = published.nodes
    .filter(({ id }) => id !== "shape")
    .map((each) => (each.id === "fetch" ? { ...each, parameters: { url: "other" } } : each));
  const draft = {
    nodes: [...nodes, node("extra", "Return")],
    edges: [
      ...published.edges.filter(({ target }) => target !== "shape"),
      edge("is_bug", "extra", "false"),
    ],
  };
  const diff = diffOf(draft, published);
  expect(Object.fromEntries(diff.nodes)).toEqual({
    fetch: "changed",
    extra: "added",
    shape: "removed",
  });
  expect(diff.removed.map(({ id }) => id)).toEqual(["shape"]);
  expect([...diff.edges]).toEqual(["is_bug-false-extra"]);
  // Three nodes, a new edge, and an edge that is gone.
  expect(diff.count).toBe(5);
});
