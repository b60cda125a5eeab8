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
const two = graph("abcdef", "a → c", "b → d", "c → e", "d → e", "c → f");

describe("reachability", () => {
  it("contains the start and the nodes after it", () => {
    expect([...reachableFrom(two, "a")]).toEqual(["a", "c", "e", "f"]);
    expect([...reachableFrom(two, "b")]).toEqual(["b", "d", "e"]);
    expect([...reachableFrom(two, "e")]).toEqual(["e"]);
  });

  it("through one port excludes the nodes after other ports", () => {
    const loop = graph("labc", "l:each → a", "a → b", "l:done → c");
    expect([...reachableThrough(loop, "l", "each")]).toEqual(["a", "b"]);
    expect([...reachableThrough(loop, "l", "done")]).toEqual(["c"]);
  });

  it("backwards contains the ancestors", () => {
    expect([...ancestorsOf(two, "e")].sort()).toEqual(["a", "b", "c", "d"]);
    expect([...ancestorsOf(two, "a")]).toEqual([]);
  });

  it("terminates in cycles, and ignores edges to missing nodes", () => {
    expect([...reachableFrom(graph("ab", "a → b", "b → a", "a → ghost"), "a")]).toEqual(["a", "b"]);
    expect([...ancestorsOf(graph("ab", "a → b", "b → a"), "a")].sort()).toEqual(["a", "b"]);
  });
});

describe("topological order and cycles:", () => {
  it.each([
    ["abc", ["a → b", "b → c"], []],
    ["abc", ["a → b", "b → c", "c → b"], ["bc"]],
    ["a", ["a → a"], ["a"]],
    ["abcd", ["a → b", "b → a", "c → d", "d → c"], ["ab", "cd"]],
    ["abcd", ["b → c", "c → d", "d → b", "a → b", "d → a"], ["bcd"]],
    ["xabc", ["a → b", "b → c", "c → a", "c → x"], ["abc"]],
  ])("the nodes %s with the edges %j have the cycles %j", (ids, edges, cycles) => {
    expect(findCycles(graph(ids, ...edges)).map((cycle) => cycle.join(""))).toEqual(cycles);
  });

  const any = fc.integer({ min: 1, max: 9 }).chain((size) => {
    const id = fc.nat(size - 1).map(String);
    const edge = fc.record({ source: id, target: id, sourceHandle: fc.constant("out") });
    return fc.array(edge, { maxLength: 20 }).map((edges) => ({
      edges,
      graph: graphOf({
        nodes: Array.from({ length: size }, (_, at) => ({ id: String(at) })),
        edges,
      }),
    }));
  });

  it("every edge goes forward in the order, which contains all nodes if there is no cycle", () => {
    fc.assert(
      fc.property(any, ({ graph: one, edges }) => {
        const order = topologicalOrder(one);
        const cycles = findCycles(one);
        expect(order.length === one.ids.length).toBe(cycles.length === 0);
        for (const { source, target } of edges)
          if (order.includes(target))
            expect(order.indexOf(source)).toBeLessThan(order.indexOf(target));
        expect(new Set(order).size).toBe(order.length);
      }),
    );
  });

  it("the cycles follow the edges, and are disjoint", () => {
    fc.assert(
      fc.property(any, ({ graph: one }) => {
        const cycles = findCycles(one);
        for (const cycle of cycles)
          for (const [at, id] of cycle.entries()) {
            const next = cycle[(at + 1) % cycle.length];
            expect(one.outgoing(id).map(({ target }) => target)).toContain(next);
          }
        expect(new Set(cycles.flat()).size).toBe(cycles.flat().length);
      }),
    );
  });

  it("a long chain does not overflow the stack", () => {
    const ids = Array.from({ length: 20_000 }, (_, at) => `n${at}`);
    const edges = ids.slice(1).map((id, at) => testEdge(`n${at} → ${id}`));
    const chain = graphOf({ nodes: ids.map((id) => ({ id })), edges });
    expect(reachableFrom(chain, "n0").size).toBe(20_000);
    expect(topologicalOrder(chain)).toEqual(ids);
    expect(findCycles(chain)).toEqual([]);
  });
});
