/** Renders tiles to HTML. */
import { type NodeProps, ReactFlowProvider } from "@xyflow/react";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { CanvasContext, type CanvasState } from "./canvas-context.ts";
import type { FlowNode } from "./graph.ts";
import { NO_ROUTE } from "./route.ts";
import { node } from "./test-graph.ts";
import { Tile, type TileNode } from "./tile-node.tsx";

const CANVAS: CanvasState = {
  route: NO_ROUTE,
  problems: new Map(),
  states: new Map(),
  diff: undefined,
  pinned: new Set(),
  onAdd: () => {},
};

const tileOf = (shown: FlowNode, overrides: Partial<CanvasState> = {}) => {
  const props = { id: shown.id, data: { node: shown }, selected: true } as NodeProps<TileNode>;
  return renderToStaticMarkup(
    createElement(
      ReactFlowProvider,
      undefined,
      createElement(
        CanvasContext,
        { value: { ...CANVAS, ...overrides } },
        createElement(Tile, props),
      ),
    ),
  );
};

test("shows the plate of a trigger, and a + at its output", () => {
  const html = tileOf(node("ask", "UserIntent", { toolName: "ask_me" }));
  expect(html).toContain("ask_me");
  expect(html).toContain('aria-label="Add a node after out"');
  expect(html).not.toContain("input in");
});

test("shows the names of the ports of a condition, and a + at its error port", () => {
  const html = tileOf(node("check", "Condition"));
  for (const port of ["true", "false", "error"]) expect(html).toContain(`title="output ${port}"`);
  expect(html).toContain('aria-label="Add what happens on error"');
});

test("shows a problem without the name of the node", () => {
  const problem = {
    message: "x: expression: Expected )",
    text: "expression: Expected )",
    isError: true,
  };
  const problems = new Map([["x", [problem]]]);
  const html = tileOf(node("x", "Transform"), { problems });
  expect(html).toContain(">expression: Expected )<");
});

test("shows a node of an unknown type", () =>
  expect(tileOf(node("x", "Interface"))).toContain("Interface"));

test("shows the state of a run as a signal head", () => {
  const state = {
    aspect: "red",
    label: "failed",
    note: "2 ms",
    port: null,
    status: "failed",
  } as const;
  const html = tileOf(node("x", "Transform"), { states: new Map([["x", state]]) });
  expect(html).toContain('class="sig red" role="img" aria-label="failed"');
});
