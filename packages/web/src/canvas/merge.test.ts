import { describe, expect, test } from "vitest";
import type { FlowNode, Graph } from "./graph.ts";
import { mergeGraphs, reuseUnchanged } from "./merge.ts";
import { edge, node, sampleGraph } from "./test-graph.ts";

const base = sampleGraph();
const change = (graph: Graph, id: string, by: (node: FlowNode) => Partial<FlowNode>): Graph => ({
  ...graph,
  nodes: graph.nodes.map((each) => (each.id === id ? { ...each, ...by(each) } : each)),
});
const put = (graph: Graph, id: string, parameters: FlowNode["parameters"]): Graph =>
  change(graph, id, (each) => ({ parameters: { ...each.parameters, ...parameters } }));
const drop = (graph: Graph, id: string): Graph => ({
  ...graph,
  nodes: graph.nodes.filter((each) => each.id !== id),
  edges: graph.edges.filter(({ source, target }) => source !== id && target !== id),
});
const find = (graph: Graph, id: string) => graph.nodes.find((each) => each.id === id);

describe("edits of different things", () => {
  test("are both kept: two nodes, and two parameters of one node", () => {
    const mine = put(put(base, "fetch", { url: "https://mine" }), "answer", { value: 1 });
    const theirs = put(put(base, "fetch", { method: "POST" }), "shape", { expression: "1" });
    const { graph, collisions } = mergeGraphs(base, mine, theirs, "mine");
    expect(collisions).toEqual([]);
    expect(find(graph, "fetch")?.parameters).toEqual({ url: "https://mine", method: "POST" });
    expect(find(graph, "answer")?.parameters).toEqual({ value: 1 });
    expect(find(graph, "shape")?.parameters).toEqual({ expression: "1" });
  });

  test("are both kept: nodes and edges that were added and removed", () => {
    const mine = { ...base, nodes: [...base.nodes, node("mine", "Return")] };
    mine.edges = [...base.edges, edge("fetch", "mine")];
    const theirs = { ...drop(base, "shape"), name: "Theirs" };
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

  test("an edge of mine to a node that they have deleted goes with the node", () => {
    const mine = { ...base, edges: [...base.edges, edge("fetch", "shape")] };
    const { graph } = mergeGraphs(base, mine, drop(base, "shape"), "mine");
    expect(graph.edges.some(({ target }) => target === "shape")).toBe(false);
  });

  test("a removed parameter stays removed", () => {
    const theirs = change(base, "fetch", () => ({ parameters: {} }));
    const mine = put(base, "fetch", { method: "POST" });
    expect(find(mergeGraphs(base, mine, theirs, "mine").graph, "fetch")?.parameters).toEqual({
      method: "POST",
    });
  });

  test("a node that I only moved can be deleted by the other edit", () => {
    const mine = change(base, "shape", () => ({ position: { x: 7, y: 7 } }));
    const { graph, collisions } = mergeGraphs(base, mine, drop(base, "shape"), "mine");
    expect(collisions).toEqual([]);
    expect(find(graph, "shape")).toBeUndefined();
  });
});

describe("edits of the same value", () => {
  const mine = { ...put(base, "fetch", { url: "mine" }), name: "Mine" };
  const theirs = { ...put(base, "fetch", { url: "theirs" }), name: "Theirs" };
  test("are named, and the chosen side wins", () => {
    const kept = mergeGraphs(base, mine, theirs, "mine");
    expect(kept.collisions).toEqual(["the name of the flow", "url of “fetch”"]);
    expect([kept.graph.name, find(kept.graph, "fetch")?.parameters.url]).toEqual(["Mine", "mine"]);
    const taken = mergeGraphs(base, mine, theirs, "theirs").graph;
    expect([taken.name, find(taken, "fetch")?.parameters.url]).toEqual(["Theirs", "theirs"]);
  });

  test("to the same result are no collision", () =>
    expect(mergeGraphs(base, mine, structuredClone(mine), "mine").collisions).toEqual([]));

  test("a node that one deleted and the other changed is asked about", () => {
    const deleted = drop(base, "answer");
    const changed = put(base, "answer", { value: "new" });
    const kept = mergeGraphs(base, deleted, changed, "mine");
    expect(kept.collisions).toEqual(["“answer”, which one edit has deleted"]);
    expect(find(kept.graph, "answer")).toBeUndefined();
    expect(find(mergeGraphs(base, deleted, changed, "theirs").graph, "answer")).toBeDefined();
  });
});

test("two added nodes with one slug get two, and the references follow mine", () => {
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

test("without an edit of mine the result is theirs itself, and the other way round", () => {
  const other = { ...base, name: "Other" };
  expect(mergeGraphs(base, base, other, "mine").graph).toBe(other);
  expect(mergeGraphs(base, other, structuredClone(base), "mine").graph).toBe(other);
});

describe("what the hub returns", () => {
  const returned = structuredClone(put(base, "fetch", { method: "POST" }));
  const reused = reuseUnchanged(base, returned);

  test("has the objects that are known already, except for what has changed", () => {
    expect(reused).toEqual(returned);
    expect(reused.nodes.filter((each, at) => each !== base.nodes[at])).toEqual([
      find(returned, "fetch"),
    ]);
    expect(reused.edges.every((each, at) => each === base.edges[at])).toBe(true);
  });

  test("keeps them when it is joined with another edit", () => {
    const mine = put(base, "answer", { value: 1 });
    const { graph } = mergeGraphs(base, mine, reused, "mine");
    expect(find(graph, "shape")).toBe(find(base, "shape"));
    expect(find(graph, "answer")).toBe(find(mine, "answer"));
    expect(find(graph, "fetch")).toBe(find(reused, "fetch"));
  });
});
