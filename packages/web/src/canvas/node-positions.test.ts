import { expect, test } from "vitest";
import { needsLayout, newPosition, pasteOffset, unstack } from "./node-positions.ts";
import { node } from "./test-graph.ts";

const nodeAt = (id: string, x: number, y = 0) => node(id, "Return", {}, { x, y });
const VISIBLE = { from: { x: 0, y: 0 }, to: { x: 1_000, y: 600 } };

test("needs a layout if at least half of the nodes have the position of another node", () => {
  expect(needsLayout({ nodes: [nodeAt("a", 100), nodeAt("b", 100)] })).toBe(true);
  expect(needsLayout({ nodes: [nodeAt("a", 0), nodeAt("b", 300)] })).toBe(false);
  expect(needsLayout({ nodes: [nodeAt("a", 100)] })).toBe(false);
  expect(
    needsLayout({ nodes: [nodeAt("a", 0), nodeAt("b", 300), nodeAt("c", 600), nodeAt("d", 600)] }),
  ).toBe(false);
});

test("moves nodes with the same position apart, and does not move the others", () => {
  const positions = unstack([nodeAt("a", 0), nodeAt("b", 300), nodeAt("c", 300), nodeAt("d", 300)]);
  expect(positions).toEqual({ c: { x: 300, y: 118 }, d: { x: 300, y: 236 } });
  expect(unstack([nodeAt("a", 0), nodeAt("b", 300)])).toEqual({});
});

test("places a new node to the right of the node before it, below existing nodes", () => {
  const graph = { nodes: [nodeAt("a", 0), nodeAt("b", 278)] };
  expect(newPosition(graph, { node: "a", port: "out" }, { x: 5, y: 5 })).toEqual({
    x: 278,
    y: 118,
  });
  expect(newPosition(graph, undefined, { x: 900.4, y: 5 })).toEqual({ x: 900, y: 5 });
});

test("places copies beside the originals, and never exactly on another node", () => {
  const nodes = [nodeAt("a", 100, 100)];
  const first = pasteOffset({ nodes }, nodes, VISIBLE);
  expect(first).toEqual({ x: 40, y: 40 });
  expect(pasteOffset({ nodes: [...nodes, nodeAt("b", 140, 140)] }, nodes, VISIBLE)).toEqual({
    x: 80,
    y: 80,
  });
});

test("places copies in the middle of the visible area if the originals are not visible", () => {
  const offset = pasteOffset({ nodes: [] }, [nodeAt("a", 9_000, 9_000)], VISIBLE);
  expect({ x: 9_000 + offset.x, y: 9_000 + offset.y }).toEqual({ x: 361, y: 241 });
});
