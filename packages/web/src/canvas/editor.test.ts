/** Renders the editor and the run dock to HTML. */

import type { Flow } from "@signalbox/contract";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { Tooltip } from "radix-ui";
import { createElement, type ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { Router } from "wouter";
import { Editor } from "./editor.tsx";
import { RunDock } from "./run-dock.tsx";
import { sampleGraph } from "./test-graph.ts";
import type { DraftRun } from "./use-run.ts";

const flow: Flow = {
  ...sampleGraph(),
  id: "flow",
  app: "desk",
  revision: 1,
  version: 7,
  draft: "changed",
  exposed_tools: [],
  exposedTools: [],
  schedules: [],
  listens_to: [],
  listensTo: [],
  has_triggers: true,
  hasTriggers: true,
  warnings: [],
  errors: [],
  created_at: "2026-01-01T00:00:00.000Z",
  updated_at: "2026-01-01T00:00:00.000Z",
};

function render(child: ReactNode): string {
  const client = new QueryClient();
  const { nodes, edges } = sampleGraph();
  client.setQueryData(["flow-version", "flow", 7], { nodes: nodes.slice(1), edges });
  // The types of wouter require `children` as a property.
  const routed = createElement(Router, {
    ssrPath: "/flows/flow",
    // biome-ignore lint/correctness/noChildrenProp: see above
    children: createElement(Tooltip.Provider, undefined, child),
  });
  return renderToStaticMarkup(createElement(QueryClientProvider, { client }, routed));
}

test("shows the name, the triggers, the changes and the next version in the header", () => {
  const html = render(createElement(Editor, { loaded: flow }));
  expect(html).toContain('value="Triage"');
  expect(html).toContain("github · issues");
  expect(html).toContain("1 change since v7");
  expect(html).toContain("Publish v8");
  expect(html).toContain("Add a node");
});

test("shows the warning of a flow without triggers", () => {
  const html = render(createElement(Editor, { loaded: { ...flow, has_triggers: false } }));
  expect(html).toContain(
    'aria-label="No triggers: This flow has no trigger nodes and cannot be executed via MCP."',
  );
});

test("shows the steps and the error message of a failed run of the draft", () => {
  const step = {
    nth: 1,
    node_id: "fetch",
    item: "",
    attempt: 1,
    status: "failed",
    port: null,
    input: { a: 1 },
    output: null,
    error: { code: "http_status", message: "GET example.com answered 502" },
    log: [],
    started_at: "2026-01-01T00:00:00.000Z",
    finished_at: "2026-01-01T00:00:00.212Z",
  };
  const run = {
    id: "run",
    trigger_node: "ask",
    status: "failed",
    error: step.error,
    created_at: step.started_at,
    started_at: step.started_at,
    finished_at: step.finished_at,
    steps: [step],
  };
  const draftRun = { run, pins: {}, isStarting: false } as unknown as DraftRun;
  const html = render(
    createElement(RunDock, { draftRun, graph: sampleGraph(), chosen: "fetch", onChoose: () => {} }),
  );
  expect(html).toContain("GET example.com answered 502");
  expect(html).toContain("212 ms");
  expect(html).toContain("Test this step");
  expect(html).toContain("Pin this output");
});
