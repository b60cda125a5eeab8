import { graphOf } from "@signalbox/rules/flows/graph.ts";
import { describe, expect, test } from "vitest";
import { edges } from "./contract/fixture.ts";
import {
  advance,
  createLayout,
  type Frame,
  frameResult,
  type NodeState,
  nodeInputs,
  resultNodes,
} from "./frame.ts";

/** Parses edges such as `a > b`; nodes whose name begins with `each` are loops. */
const layoutOf = (...lines: string[]) => {
  const parsed = edges(...lines);
  const ids = [...new Set(parsed.flatMap(({ source, target }) => [source, target]))];
  const graph = graphOf({ nodes: ids.map((id) => ({ id })), edges: parsed });
  return createLayout(graph, "start", (id) => id.startsWith("each"));
};

const frameOf = (nodes: ReadonlySet<string>, states: Record<string, NodeState> = {}): Frame => ({
  iteration: "",
  nodes,
  states: new Map(Object.entries(states)),
  started: new Set(),
  outerState: () => undefined,
});
const done = (port = "out", output: string | null = null): NodeState => ({
  status: "done",
  port,
  output,
});

/** Advances until no node is ready, and completes each ready node with its port in `ports`. */
function walk(layout: ReturnType<typeof layoutOf>, ports: Record<string, string> = {}) {
  const frame = frameOf(layout.main, { start: done(ports.start) });
  const rounds: string[] = [];
  for (;;) {
    const { ready, skipped } = advance(layout, frame);
    if (ready.length + skipped.length === 0) return { rounds, frame };
    rounds.push([...ready, ...skipped.map((id) => `-${id}`)].join(" "));
    for (const id of ready) frame.states.set(id, done(ports[id], id));
  }
}

describe("advance", () => {
  test("gives a pinned node its state when it is reached, and does not start it", () => {
    const layout = layoutOf("start.yes > a > b", "start.no > c > d");
    const pins = new Map([
      ["a", done("out", "pinned")],
      ["c", done("out", "unused")],
    ]);
    const frame = { ...frameOf(layout.main, { start: done("yes") }), pins };
    expect(advance(layout, frame)).toEqual({ ready: ["b"], skipped: ["c", "d"] });
    expect(frame.states.get("a")).toEqual(done("out", "pinned"));
  });

  test("ends a frame whose only node is pinned", () => {
    const layout = layoutOf("start > a");
    const pins = new Map([["a", done("out", "pinned")]]);
    const frame = { ...frameOf(layout.main, { start: done() }), pins };
    expect(advance(layout, frame)).toEqual({ ready: [], skipped: [] });
    expect(resultNodes(layout, frame, () => false)).toEqual([{ id: "a", output: "pinned" }]);
  });

  test("runs both branches of a diamond, then their join once", () => {
    const layout = layoutOf("start > a > meet", "start > b > meet > end");
    expect(walk(layout).rounds).toEqual(["a b", "meet", "end"]);
  });

  test("waits for every branch that can still reach a node", () => {
    const layout = layoutOf("start > a > b > c > meet", "start > meet");
    expect(walk(layout).rounds).toEqual(["a", "b", "c", "meet"]);
  });

  test("skips all nodes of a branch that is not followed", () => {
    const layout = layoutOf("start > if.true > a > b", "if.false > c > d > e");
    expect(walk(layout, { if: "true" }).rounds).toEqual(["if", "a -c -d -e", "b"]);
  });

  test("runs a join when only one branch reaches it", () => {
    const layout = layoutOf("start > if.true > a > meet", "if.false > c > meet > end");
    expect(walk(layout, { if: "true" }).rounds).toEqual(["if", "a -c", "meet", "end"]);
  });

  test("follows only the error edge of a node that failed", () => {
    const layout = layoutOf("start > a > fine", "a.error > rescue");
    expect(walk(layout, { a: "error" }).rounds).toEqual(["a", "rescue -fine"]);
    expect(walk(layout).rounds).toEqual(["a", "fine -rescue"]);
  });

  test("ends at a port without edges", () => {
    expect(walk(layoutOf("start > a > b"), { a: "" }).rounds).toEqual(["a", "-b"]);
  });

  test("does not wait for nodes that only another trigger reaches", () => {
    expect(walk(layoutOf("start > a", "other > b > a")).rounds).toEqual(["a"]);
  });

  test("continues from a restored state, and starts no node twice", () => {
    const layout = layoutOf("start > a > b", "start > c > b");
    const frame = frameOf(layout.main, { start: done(), a: done() });
    expect(advance(layout, frame)).toEqual({ ready: ["c"], skipped: [] });
    expect(advance(layout, frame)).toEqual({ ready: [], skipped: [] });
  });
});

describe("loops", () => {
  const sets = (layout: ReturnType<typeof layoutOf>) => ({
    main: [...layout.main],
    ...Object.fromEntries([...layout.bodies].map(([loop, body]) => [loop, [...body]])),
  });

  test("have a body of the nodes that are reachable from port `item`", () => {
    expect(sets(layoutOf("start > each.item > a > b", "each.done > c"))).toEqual({
      main: ["start", "each", "c"],
      each: ["a", "b"],
    });
  });

  test("inside other loops have their own bodies", () => {
    expect(sets(layoutOf("start > each1.item > a > each2.item > b", "each2.done > c"))).toEqual({
      main: ["start", "each1"],
      each1: ["a", "each2", "c"],
      each2: ["b"],
    });
  });

  test("exclude nodes that are also reachable after the loop, which run once", () => {
    expect(sets(layoutOf("start > each.item > a > both", "each.done > both"))).toEqual({
      main: ["start", "each", "both"],
      each: ["a"],
    });
    const layout = layoutOf("start > each.item > a > both", "each.done > both");
    expect(walk(layout, { each: "done" }).rounds).toEqual(["each", "both"]);
  });

  test("pass the outputs of nodes in the enclosing frame to an iteration", () => {
    const layout = layoutOf("start > x > each.item > a", "x > a");
    const body = layout.bodies.get("each") as Set<string>;
    const enclosing = new Map([
      ["x", done("out", "from x")],
      ["each", done("item", "an item")],
    ]);
    const frame = { ...frameOf(body), outerState: (id: string) => enclosing.get(id) };
    expect(advance(layout, frame).ready).toEqual(["a"]);
    expect(nodeInputs(layout, frame, "a", (id) => id)).toEqual([
      { slug: "each", port: "in", output: "an item" },
      { slug: "x", port: "in", output: "from x" },
    ]);
  });

  test("have a body on an error branch too", () => {
    expect(sets(layoutOf("start > a", "a.error > each.item > b", "each.error > c"))).toEqual({
      main: ["start", "a", "each", "c"],
      each: ["b"],
    });
  });
});

describe("frameResult", () => {
  const result = (layout: ReturnType<typeof layoutOf>, ports: Record<string, string> = {}) => {
    const { frame } = walk(layout, ports);
    const results = resultNodes(layout, frame, (id) => id.startsWith("return"));
    return frameResult(results, (id) => `the_${id}`);
  };

  test("is the output of the Return node that was reached", () => {
    const layout = layoutOf("start > if.true > return1", "if.false > return2");
    expect(result(layout, { if: "false" })).toBe("return2");
  });

  test("is the output of the last node, or an object by slug if there are several", () => {
    expect(result(layoutOf("start > a > b"))).toBe("b");
    expect(result(layoutOf("start > a", "start > b > c"))).toEqual({ the_a: "a", the_c: "c" });
  });

  test("is the output of the trigger if no other node has run", () => {
    expect(result(layoutOf("start > a"), { start: "other" })).toBeNull();
  });
});
