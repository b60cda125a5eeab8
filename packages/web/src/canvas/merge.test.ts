import { describe, expect, test } from "vitest";
import type { FlowNode, Graph } from "./graph.ts";
import { mergeGraphs, reuseUnchanged } from "./merge.ts";
import { edge, node, sampleGraph } from "./test-graph.ts";

const base = sampleGraph();
const changeNode = (
  graph: Graph,
  id: string,
  change: (node: FlowNode) => Partial<FlowNode>,
): Graph => ({
  ...graph,
  nodes: graph.nodes.map((each) => (each.id === id ? { ...each, ...change(each) } : each)),
});
const setParameters = (graph: Graph, id: string, parameters: FlowNode["parameters"]): Graph =>
  changeNode(graph, id, (each) => ({ parameters: { ...each.parameters, ...parameters } }));
const removeNode = (graph: Graph, id: string): Graph => ({
  ...graph,
  nodes: graph.nodes.filter((each) => each.id !== id),
  edges: graph.edges.filter(({ source, target }) => source !== id && target !== id),
});
const find = (graph: Graph, id: string) => graph.nodes.find((each) => each.id === id);

describe("edits of different values", () => {
  test("are both kept for two nodes, and for two parameters of one node", () => {
    const mine = setParameters(setParameters(base, "fetch", { url: "https://mine" }), "answer", {
      value: 1,
    });
    const theirs = setParameters(setParameters(base, "fetch", { method: "POST" }), "shape", {
      expression: "1",
    });
    const { graph, collisions } = mergeGraphs(base, mine, theirs, "mine");
    expect(collisions).toEqual([]);
    expect(find(graph, "fetch")?.parameters).toEqual({ url: "https://mine", method: "POST" });
    expect(find(graph, "answer")?.parameters).toEqual({ value: 1 });
    expect(find(graph, "shape")?.parameters).toEqual({ expression: "1" });
  });

  test("are both kept for added and removed nodes and edges", () => {
    const mine = { ...base, nodes: [...base.nodes, node("mine", "Return")] };
    mine.edges = [...base.edges, edge("fetch", "mine")];
    const theirs = { ...removeNode(base, "shape"), name: "Theirs" };
    theirs.nodes = [...theirs.nodes, node("theirs", "Return")];
    const { graph, collisions } = mergeGraphs(base, mine, theirs, "mine");
    expect(collisions).toEqual([]);
    expect(graph.name).toBe("Theirs");
    expect(graph.nodes.map(({ id }) => id).sort()).toEqual(
      ["answer", "ask", "fetch", "is_bug", "mine", "opened", "theirs"].sort(),
    );
    expect(graph.edges.map(({ id }) => id)).toEqual([
      "ask-out-fetch",
      "fetch-out-is_bug",
      "is_bug-true-answer",
      "fetch-out-mine",
    ]);
  });

  test("drop my new edge to a node that they have deleted", () => {
    const mine = { ...base, edges: [...base.edges, edge("fetch", "shape")] };
    const { graph } = mergeGraphs(base, mine, removeNode(base, "shape"), "mine");
    expect(graph.edges.some(({ target }) => target === "shape")).toBe(false);
  });

  test("keep a parameter removed", () => {
    const theirs = changeNode(base, "fetch", () => ({ parameters: {} }));
    const mine = setParameters(base, "fetch", { method: "POST" });
    expect(find(mergeGraphs(base, mine, theirs, "mine").graph, "fetch")?.parameters).toEqual({
      method: "POST",
    });
  });

  test("delete a node that the other edit has only moved", () => {
    const mine = changeNode(base, "shape", () => ({ position: { x: 7, y: 7 } }));
    const { graph, collisions } = mergeGraphs(base, mine, removeNode(base, "shape"), "mine");
    expect(collisions).toEqual([]);
    expect(find(graph, "shape")).toBeUndefined();
  });
});

describe("edits of the same value", () => {
  const mine = { ...setParameters(base, "fetch", { url: "mine" }), name: "Mine" };
  const theirs = { ...setParameters(base, "fetch", { url: "theirs" }), name: "Theirs" };
  test("are reported as collisions, and the preferred side is used", () => {
    const withMine = mergeGraphs(base, mine, theirs, "mine");
    expect(withMine.collisions).toEqual(["the name of the flow", "url of “fetch”"]);
    expect([withMine.graph.name, find(withMine.graph, "fetch")?.parameters.url]).toEqual([
      "Mine",
      "mine",
    ]);
    const withTheirs = mergeGraphs(base, mine, theirs, "theirs").graph;
    expect([withTheirs.name, find(withTheirs, "fetch")?.parameters.url]).toEqual([
      "Theirs",
      "theirs",
    ]);
  });

  test("are not a collision if both have the same result", () =>
    expect(mergeGraphs(base, mine, structuredClone(mine), "mine").collisions).toEqual([]));

  test("collide if one deletes a node and the other changes it", () => {
    const deleted = removeNode(base, "answer");
    const changed = setParameters(base, "answer", { value: "new" });
    const withMine = mergeGraphs(base, deleted, changed, "mine");
    expect(withMine.collisions).toEqual(["“answer”, which one edit has deleted"]);
    expect(find(withMine.graph, "answer")).toBeUndefined();
    expect(find(mergeGraphs(base, deleted, changed, "theirs").graph, "answer")).toBeDefined();
  });
});

test("gives my node another slug if both edits use the same slug, and updates my references", () => {
  const add = (id: string): Graph => ({
    ...base,
    nodes: [
      ...base.nodes,
      { ...node(id, "HttpRequest"), slug: "call" },
      { ...node(`${id}-end`, "Return", { value: "{{ call.body }}" }), slug: `${id}_end` },
    ],
  });
  const { graph } = mergeGraphs(base, add("mine"), add("theirs"), "mine");
  expect(find(graph, "theirs")?.slug).toBe("call");
  expect(find(graph, "mine")?.slug).toBe("call_2");
  expect(find(graph, "mine-end")?.parameters.value).toBe("{{ call_2.body }}");
  expect(find(graph, "theirs-end")?.parameters.value).toBe("{{ call.body }}");
});

test("returns the graph of the only side that has edits", () => {
  const other = { ...base, name: "Other" };
  expect(mergeGraphs(base, base, other, "mine").graph).toBe(other);
  expect(mergeGraphs(base, other, structuredClone(base), "mine").graph).toBe(other);
});

describe("reuseUnchanged", () => {
  const returned = structuredClone(setParameters(base, "fetch", { method: "POST" }));
  const reused = reuseUnchanged(base, returned);

  test("reuses the previous objects, except for the changed node", () => {
    expect(reused).toEqual(returned);
    expect(reused.nodes.filter((each, index) => each !== base.nodes[index])).toEqual([
      find(returned, "fetch"),
    ]);
    expect(reused.edges.every((each, index) => each === base.edges[index])).toBe(true);
  });

  test("keeps the identity of nodes in a merge with another edit", () => {
    const mine = setParameters(base, "answer", { value: 1 });
    const { graph } = mergeGraphs(base, mine, reused, "mine");
    expect(find(graph, "shape")).toBe(find(base, "shape"));
    expect(find(graph, "answer")).toBe(find(mine, "answer"));
    expect(find(graph, "fetch")).toBe(find(reused, "fetch"));
  });
});
