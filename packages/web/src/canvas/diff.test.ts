import { expect, test } from "vitest";
import { changesOf, diffOf, isRemovedEdge, withRemoved } from "./diff.ts";
import { edge, node, sampleGraph } from "./test-graph.ts";

test("ignores the positions of nodes", () => {
  const draft = sampleGraph();
  const moved = draft.nodes.map((each) => ({ ...each, position: { x: 9, y: 9 } }));
  expect(diffOf({ ...draft, nodes: moved }, sampleGraph()).count).toBe(0);
});

test("finds added, changed and removed nodes, and added and removed edges", () => {
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
  expect(diff.removedNodes.map(({ id }) => id)).toEqual(["shape"]);
  expect([...diff.addedEdges]).toEqual(["is_bug-false-extra"]);
  // Three nodes, an added edge, and a removed edge.
  expect(diff.count).toBe(5);
});

test("returns the names of changed parameters, and ignores the order of keys", () => {
  const before = node("a", "HttpRequest", { url: "x", method: "GET", headers: { a: "1", b: "2" } });
  const now = node("a", "HttpRequest", { headers: { b: "2", a: "1" }, method: "POST", query: {} });
  const diff = diffOf({ nodes: [now], edges: [] }, { nodes: [before], edges: [] });
  expect(diff.fields.get("a")).toEqual(["url", "method", "query"]);
  const same = { ...before, parameters: { headers: { b: "2", a: "1" }, method: "GET", url: "x" } };
  expect(diffOf({ nodes: [same], edges: [] }, { nodes: [before], edges: [] }).count).toBe(0);
});

test("adds removed nodes and edges to the graph", () => {
  const published = sampleGraph();
  const draft = {
    ...published,
    nodes: published.nodes.filter(({ id }) => id !== "shape"),
    edges: published.edges.filter(({ target }) => target !== "shape" && target !== "answer"),
  };
  const shown = withRemoved(draft, diffOf(draft, published));
  expect(shown.nodes.map(({ id }) => id)).toContain("shape");
  const removedEdges = shown.edges.filter(({ id }) => isRemovedEdge(id));
  expect(removedEdges.map(({ source, target }) => [source, target])).toEqual([
    ["opened", "shape"],
    ["is_bug", "answer"],
  ]);
  expect(withRemoved(published, diffOf(published, published))).toBe(published);
});

test("lists nodes with their changed parameters, and edges with the names of both nodes", () => {
  const published = sampleGraph();
  const draft = {
    nodes: published.nodes.map((each) =>
      each.id === "fetch" ? { ...each, parameters: { url: "other" } } : each,
    ),
    edges: [...published.edges.slice(1), edge("is_bug", "shape", "false")],
  };
  expect(
    changesOf(draft, diffOf(draft, published)).map(({ change, label, fields }) => [
      change,
      label,
      ...fields,
    ]),
  ).toEqual([
    ["changed", "fetch", "url"],
    ["added", "is_bug → shape"],
    ["removed", "ask → fetch"],
  ]);
});
