import { expect, test } from "vitest";
import { needsLayout, newPosition, pasteOffset, unstack } from "./node-positions.ts";
import { node } from "./test-graph.ts";

const at = (id: string, x: number, y = 0) => node(id, "Return", {}, { x, y });
const VISIBLE = { from: { x: 0, y: 0 }, to: { x: 1_000, y: 600 } };

test("a flow needs a layout if most of its nodes are on one spot", () => {
  expect(needsLayout({ nodes: [at("a", 100), at("b", 100)] })).toBe(true);
  expect(needsLayout({ nodes: [at("a", 0), at("b", 300)] })).toBe(false);
  expect(needsLayout({ nodes: [at("a", 100)] })).toBe(false);
  expect(needsLayout({ nodes: [at("a", 0), at("b", 300), at("c", 600), at("d", 600)] })).toBe(
    false,
  );
});

test("a few nodes on one spot are moved apart, and the others stay", () => {
  const to = unstack([at("a", 0), at("b", 300), at("c", 300), at("d", 300)]);
  expect(to).toEqual({ c: { x: 300, y: 118 }, d: { x: 300, y: 236 } });
  expect(unstack([at("a", 0), at("b", 300)])).toEqual({});
});

test("what follows a node stands to its right, below what is there", () => {
  const graph = { nodes: [at("a", 0), at("b", 278)] };
  expect(newPosition(graph, { node: "a", port: "out" }, { x: 5, y: 5 })).toEqual({
    x: 278,
    y: 118,
  });
  expect(newPosition(graph, undefined, { x: 900.4, y: 5 })).toEqual({ x: 900, y: 5 });
});

test("copies stand beside the original, never exactly on another node", () => {
  const nodes = [at("a", 100, 100)];
  const first = pasteOffset({ nodes }, nodes, VISIBLE);
  expect(first).toEqual({ x: 40, y: 40 });
  expect(pasteOffset({ nodes: [...nodes, at("b", 140, 140)] }, nodes, VISIBLE)).toEqual({
    x: 80,
    y: 80,
  });
});

test("copies of what is out of sight stand in the middle of what is visible", () => {
  const offset = pasteOffset({ nodes: [] }, [at("a", 9_000, 9_000)], VISIBLE);
  expect({ x: 9_000 + offset.x, y: 9_000 + offset.y }).toEqual({ x: 361, y: 241 });
});
