/** Renders the node panel to HTML. */

import type { Flow, NodeType } from "@signalbox/contract";
import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { Tooltip } from "radix-ui";
import { createElement, type ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { z } from "zod";
import type { FlowNode } from "../canvas/graph.ts";
import { node, sampleGraph } from "../canvas/test-graph.ts";
import type { DraftRun } from "../canvas/use-run.ts";
import { NodePanel } from "./node-panel.tsx";

const graph = sampleGraph();
const flow = {
  ...graph,
  id: "flow",
  app: "desk",
  errors: [
    {
      code: "invalid_config",
      node_id: "x",
      path: "url",
      message: "x: url: must not be empty",
      problem: "must not be empty",
    },
    { code: "invalid_config", node_id: "full", path: "concurrency.most", message: "must be 1" },
  ],
  warnings: [],
} as unknown as Flow;
const draftRun = { pins: {}, isStarting: false } as unknown as DraftRun;

const toSchema = (schema: z.ZodType) =>
  z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });

/** The node types as GET /api/node-types returns them, but without settings. */
const types = [...nodeTypes.values()].map(
  ({ type, config }) =>
    ({
      type,
      config: toSchema(config),
      settings: { type: "object", properties: {} },
    }) as unknown as NodeType,
);

function render(child: ReactNode): string {
  const client = new QueryClient();
  client.setQueryData(["node-types"], { items: types });
  return renderToStaticMarkup(
    createElement(
      QueryClientProvider,
      { client },
      createElement(Tooltip.Provider, undefined, child),
    ),
  );
}

const renderPanel = (node: FlowNode) =>
  render(
    createElement(NodePanel, {
      flow,
      graph,
      node,
      isPublished: true,
      draftRun,
      onParameters: () => {},
      onRename: () => {},
      onDelete: () => {},
      onClose: () => {},
      onLeave: () => {},
    }),
  );

test.each([...nodeTypes.values()].map(({ type, sample }) => [type, sample.config] as const))(
  "%s: renders a form for its sample, for an empty node and for values of the wrong type",
  (type, sample) => {
    const wrong = Object.fromEntries(Object.keys(sample).map((name) => [name, [{ odd: 1 }, 3]]));
    for (const parameters of [sample, {}, wrong])
      expect(renderPanel(node("x", type, parameters))).toContain("Name");
  },
);

test("shows the section MCP Tool, with the derived name, for a trigger that is a tool", () => {
  const html = renderPanel(node("Get Weather", "UserIntent", { toolDescription: "Tells." }));
  expect(html).toContain("MCP Tool");
  expect(html).toContain("get_weather");
  expect(html).toContain("Derived from the name of the node");
  for (const label of ["Description", "Parameters", "Active", "When to use", "When not to use"])
    expect(html).toContain(label);
});

test("shows an error at its field, without the name of the node and the path", () => {
  const html = renderPanel(node("x", "HttpRequest"));
  expect(html).toMatch(/role="alert"[^>]*>must not be empty/);
});

test("collapses an optional section, unless it has a value or an error", () => {
  const isOpen = (parameters: FlowNode["parameters"], id = "daily") =>
    /<details[^>]*aria-label="Concurrency"[^>]*>/
      .exec(renderPanel(node(id, "Schedule", { cron: "0 9 * * *", ...parameters })))?.[0]
      .includes("open");
  expect(isOpen({})).toBe(false);
  expect(isOpen({ concurrency: { most: 2 } })).toBe(true);
  expect(isOpen({}, "full")).toBe(true);
});

test("offers to insert references, except in triggers", () => {
  expect(renderPanel(node("x", "HttpRequest"))).toContain("Insert a reference");
  expect(renderPanel(node("x", "Event"))).not.toContain("Insert a reference");
});

test("escapes markup in values", () =>
  expect(renderPanel(node("x", "HttpRequest", { url: "<b>&amp;</b>" }))).not.toContain(
    "<b>&amp;</b>",
  ));
