import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ancestorsOf,
  findCycles,
  graphOf,
  reachableFrom,
  reachableThrough,
  topologicalOrder,
} from "./graph.ts";
import { testEdge } from "./test-flow.ts";

const graph = (ids: string, ...edges: string[]) =>
  graphOf({ nodes: [...ids].map((id) => ({ id })), edges: edges.map(testEdge) });

/** Two triggers, a and b: a → c → e, b → d → e, c → f. */
const twoTriggers = graph("abcdef", "a → c", "b → d", "c → e", "d → e", "c → f");

describe("reachability", () => {
  it("contains the start and the nodes after it", () => {
    expect([...reachableFrom(twoTriggers, "a")]).toEqual(["a", "c", "e", "f"]);
    expect([...reachableFrom(twoTriggers, "b")]).toEqual(["b", "d", "e"]);
    expect([...reachableFrom(twoTriggers, "e")]).toEqual(["e"]);
  });

  it("through one port excludes the nodes after other ports", () => {
    const loop = graph("labc", "l:each → a", "a → b", "l:done → c");
    expect([...reachableThrough(loop, "l", "each")]).toEqual(["a", "b"]);
    expect([...reachableThrough(loop, "l", "done")]).toEqual(["c"]);
  });

  it("backwards contains the ancestors", () => {
    expect([...ancestorsOf(twoTriggers, "e")].sort()).toEqual(["a", "b", "c", "d"]);
    expect([...ancestorsOf(twoTriggers, "a")]).toEqual([]);
  });

  it("terminates in cycles, and ignores edges to missing nodes", () => {
    expect([...reachableFrom(graph("ab", "a → b", "b → a", "a → ghost"), "a")]).toEqual(["a", "b"]);
    expect([...ancestorsOf(graph("ab", "a → b", "b → a"), "a")].sort()).toEqual(["a", "b"]);
  });
});

describe("topologicalOrder and findCycles", () => {
  it.each([
    ["abc", ["a → b", "b → c"], []],
    ["abc", ["a → b", "b → c", "c → b"], ["bc"]],
    ["a", ["a → a"], ["a"]],
    ["abcd", ["a → b", "b → a", "c → d", "d → c"], ["ab", "cd"]],
    ["abcd", ["b → c", "c → d", "d → b", "a → b", "d → a"], ["bcd"]],
    ["xabc", ["a → b", "b → c", "c → a", "c → x"], ["abc"]],
  ])("find in the nodes %s with the edges %j the cycles %j", (ids, edges, cycles) => {
    expect(findCycles(graph(ids, ...edges)).map((cycle) => cycle.join(""))).toEqual(cycles);
  });

  const anyGraph = fc.integer({ min: 1, max: 9 }).chain((size) => {
    const id = fc.nat(size - 1).map(String);
    const edge = fc.record({ source: id, target: id, sourceHandle: fc.constant("out") });
    return fc.array(edge, { maxLength: 20 }).map((edges) => ({
      edges,
      graph: graphOf({
        nodes: Array.from({ length: size }, (_, index) => ({ id: String(index) })),
        edges,
      }),
    }));
  });

  it("return an order in which every edge points forward, with all nodes if there is no cycle", () => {
    fc.assert(
      fc.property(anyGraph, ({ graph, edges }) => {
        const order = topologicalOrder(graph);
        const cycles = findCycles(graph);
        expect(order.length === graph.ids.length).toBe(cycles.length === 0);
        for (const { source, target } of edges)
          if (order.includes(target))
            expect(order.indexOf(source)).toBeLessThan(order.indexOf(target));
        expect(new Set(order).size).toBe(order.length);
      }),
    );
  });

  it("return disjoint cycles that follow the edges", () => {
    fc.assert(
      fc.property(anyGraph, ({ graph }) => {
        const cycles = findCycles(graph);
        for (const cycle of cycles)
          for (const [index, id] of cycle.entries()) {
            const next = cycle[(index + 1) % cycle.length];
            expect(graph.outgoing(id).map(({ target }) => target)).toContain(next);
          }
        expect(new Set(cycles.flat()).size).toBe(cycles.flat().length);
      }),
    );
  });

  it("do not overflow the stack for a long chain", () => {
    const ids = Array.from({ length: 20_000 }, (_, index) => `n${index}`);
    const edges = ids.slice(1).map((id, index) => testEdge(`n${index} → ${id}`));
    const chain = graphOf({ nodes: ids.map((id) => ({ id })), edges });
    expect(reachableFrom(chain, "n0").size).toBe(20_000);
    expect(topologicalOrder(chain)).toEqual(ids);
    expect(findCycles(chain)).toEqual([]);
  });
});
