/** Renders the card and the form of a trigger to HTML. */

import type { TriggerPreview, TriggerState } from "@signalbox/contract";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { Tooltip } from "radix-ui";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { Router } from "wouter";
import { node } from "../canvas/test-graph.ts";
import { TriggerSection } from "./trigger-section.tsx";
import { PREVIEW_KEY, selectionOf } from "./use-preview.ts";

const CONNECTION = {
  id: "c1",
  name: "tracker",
  status: "failed",
  error: "connect ECONNREFUSED",
  trigger_count: 1,
  checked_at: null,
};
const OFFERED = {
  type: "issue.opened",
  description: "Fires when an issue is opened.",
  inputSchema: { type: "object", properties: {} },
  paramsSchema: {
    repo: { type: "string", required: true, description: "Only this repository." },
    priority: { type: "string", enum: ["low", "high"] },
  },
};

function render(
  type: string,
  parameters: JsonObject,
  { state, preview }: { state?: Partial<TriggerState>; preview?: Partial<TriggerPreview> } = {},
): string {
  const client = new QueryClient();
  client.setQueryData(["connections", "all"], { items: [CONNECTION] });
  client.setQueryData(["sources"], { items: [] });
  client.setQueryData(["source-kinds"], { items: [{ id: "github", title: "GitHub" }] });
  client.setQueryData(["connections", "triggers", "c1"], { items: [OFFERED] });
  client.setQueryData(["flows", "triggers", "flow", 1], {
    items: state ? [{ node_id: "x", kind: "event", active: true, ...state }] : [],
  });
  if (preview) client.setQueryData([...PREVIEW_KEY, selectionOf(parameters)], preview);
  const section = createElement(TriggerSection, {
    flow: { id: "flow", version: 1 },
    node: node("x", type, parameters),
    onChange: () => {},
  });
  const routed = createElement(Router, {
    ssrPath: "/flows/flow",
    // biome-ignore lint/correctness/noChildrenProp: the types of wouter require the children as a property
    children: createElement(Tooltip.Provider, undefined, section),
  });
  return renderToStaticMarkup(createElement(QueryClientProvider, { client }, routed));
}

const EVENT = { source: "c1", type: "issue.opened", params: { repo: "acme/desk" } };

it("shows the error messages of the server and of its connection", () => {
  const html = render("Event", EVENT, {
    state: { source: "c1", type: "issue.opened", state: "failed", error: "The quota is used up." },
  });
  expect(html).toContain("issue.opened · tracker");
  expect(html).toContain("The quota is used up.");
  expect(html).toContain("connect ECONNREFUSED");
  expect(html).toContain("repo = acme/desk");
});

it("shows fields for declared params, and conditions on other paths", () => {
  const html = render("Event", { ...EVENT, params: { "issue.number": { op: "gt", value: 5 } } });
  expect(html).toMatch(/repo<span[^>]*title="required"/);
  expect(html).toContain("Only this repository.");
  expect(html).toMatch(/<option[^>]*>any value<\/option><option[^>]*>low<\/option>/);
  expect(html).toContain('value="issue.number"');
  expect(html).toContain("More conditions");
});

it("shows the current type if the server does not offer it", () => {
  const html = render("Event", { ...EVENT, type: "issue.gone" });
  expect(html).toMatch(/checked=""[^>]*value="issue.gone"/);
  expect(html).toContain("The server does not offer this type.");
});

it("disables test events for events that only flows emit", () => {
  const button = /<button[^>]*disabled=""[^>]*>(?:(?!<button).)*Send test event/;
  expect(render("Event", { source: "signalbox" })).toMatch(button);
  expect(render("Event", EVENT)).not.toMatch(button);
});

it("shows near misses in amber", () => {
  const reasons = [
    { on: "type", holds: true, message: 'type is "x", wanted "x"' },
    {
      on: "param",
      path: "repo",
      holds: false,
      op: "eq",
      actual: ["b"],
      wanted: ["acme/desk"],
      message: 'repo is "b", wanted "acme/desk"',
    },
  ];
  const event = { id: "e", title: "Lamp", type: "issue.opened", received_at: "2026-01-01" };
  const html = render("Event", EVENT, {
    preview: {
      matched: 0,
      of: 100,
      compared: "The newest events from c1",
      basis: { source: "c1", type: null, found: "source" },
      events: [{ event, matched: false, reason: "", reasons }],
    } as unknown as TriggerPreview,
  });
  expect(html).toContain("0 of your last 100 events would have matched");
  expect(html).toContain("The newest events from tracker.");
  expect(html).toMatch(/text-amber[^>]*>1 near miss/);
  expect(html).toMatch(/bg-amber-tint[^>]*text-amber.*wanted/);
});

it("shows the next five times of a schedule", () => {
  const html = render("Schedule", { cron: "0 9 * * 1-5", timeZone: "Asia/Tokyo" });
  expect(html.match(/<time /g)).toHaveLength(5);
  expect(html).toContain("09:00 GMT+9");
  expect(render("Schedule", { cron: "x" })).toContain("must have five fields");
});

it.each(["Event", "Schedule"])("%s: renders values of the wrong type", (type) => {
  const wrong = Object.fromEntries(
    ["source", "type", "params", "filter", "poll", "cron", "timeZone"].map((name) => [name, [3]]),
  );
  expect(render(type, wrong)).toContain("not published");
});
