import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import { describe, expect, it } from "vitest";
import type { DescribedFlow, FlowChange, Flows } from "../flows/editing/flows.ts";
import type { FlowGraph } from "../flows/model.ts";
import { createIds } from "../kernel/lib/ids.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import { type AutomationsOptions, createAutomations } from "./automations.ts";

const CONNECTION = "weather-7kq2xv";
const changeOptions = { by: "me", draft: false };

const node = (id: string, type: string, parameters = {}) => ({
  id,
  type,
  name: id,
  slug: id,
  position: { x: 0, y: 0 },
  parameters,
});
const EVENT = { source: CONNECTION, type: "storm" };
const graphOf = (events: string[]): FlowGraph => ({
  nodes: [node("agent", "Agent"), ...events.map((id) => node(id, "Event", EVENT))],
  edges: events.map((id) => ({
    id: `edge-${id}`,
    source: id,
    sourceHandle: "out",
    target: "agent",
    targetHandle: "in",
  })),
});

/**
 * Opens automations with one fake flow. Another client edits it right before so many calls of `change`
 * and `publish`. `removeError` is the error of `remove`.
 */
function open(conflicts: { changes?: number; publications?: number; removeError?: Error } = {}) {
  let { changes = 0, publications = 0 } = conflicts;
  let revision = 1;
  let published: number | undefined;
  let graph = graphOf(["t0"]);
  const flow = (id = "f") =>
    ({
      tenant: "acme",
      id,
      revision,
      graph,
      version: 1,
      schedules: [],
      subscriptions:
        id === "f7"
          ? [{ node_id: "t0", connection: CONNECTION, state: "failed", error: "no quota" }]
          : [],
    }) as unknown as DescribedFlow;
  const conflict = () => {
    revision += 1;
    return new RequestError("changed", "if-match", "Another client has changed the flow.");
  };
  const flows = {
    get: async () => flow(),
    list: async () => ({
      flows: Array.from({ length: 50 }, (_, index) => flow(`f${index}`)),
      hasMore: false,
    }),
    create: async () => flow(),
    async remove() {
      if (conflicts.removeError) throw conflicts.removeError;
    },
    async change(key: { ifRevision: number }, change: FlowChange) {
      if (changes-- > 0) throw conflict();
      expect(key.ifRevision).toBe(revision);
      revision += 1;
      graph = { ...graph, ...change } as FlowGraph;
      return flow();
    },
    async publish(key: { ifRevision: number }) {
      if (publications-- > 0) throw conflict();
      expect(key.ifRevision).toBe(revision);
      published = revision;
      return flow();
    },
  } as unknown as Flows;
  const store = {
    createApp: async () => true,
    getVersion: async () => graph,
  };
  const automations = createAutomations({
    flows,
    store,
    registry: nodeTypes,
    newId: createIds(),
    timers: { now: () => 0, after: () => () => {} },
  } as unknown as AutomationsOptions);
  return {
    automations,
    ids: () => graph.nodes.map(({ id }) => id),
    isPublished: () => published === revision,
  };
}

describe.each([{ changes: 2 }, { publications: 1 }, { changes: 1, publications: 2 }])(
  "while another client edits the flow (conflicts: %o)",
  (conflicts) => {
    it("adds a trigger once", async () => {
      const { automations, ids, isPublished } = open(conflicts);
      const config = { source: "github", type: "issues" };
      const added = await automations.addTrigger(
        "acme",
        "f",
        { kind: "event", config },
        changeOptions,
      );
      expect(ids()).toEqual(["agent", "t0", added.triggerId]);
      expect(isPublished()).toBe(true);
    });

    it("removes a trigger", async () => {
      const { automations, ids, isPublished } = open(conflicts);
      await automations.removeTrigger("acme", "f", "t0", changeOptions);
      expect(ids()).toEqual(["agent"]);
      expect(isPublished()).toBe(true);
    });
  },
);

it("reports that a change is saved but not published if every attempt to publish conflicts", async () => {
  const { automations, ids } = open({ publications: 99 });
  await expect(automations.removeTrigger("acme", "f", "t0", changeOptions)).rejects.toThrow(
    /^The change is saved as a draft, but it is not published\. Another client/,
  );
  expect(ids()).toEqual(["agent"]);
});

it("reports why an automation is not created, even if its flow cannot be removed", async () => {
  const { automations } = open({ publications: 1, removeError: new Error("the disk is full") });
  const fields = { name: "A", agent: {}, triggers: [] };
  await expect(automations.create("acme", fields, changeOptions)).rejects.toThrow(/Another client/);
});

it("lists automations with the states of their subscriptions", async () => {
  const { automations } = open();
  const { items } = await automations.list("acme", { limit: 100 });
  expect(items).toHaveLength(50);
  const states = items.map(({ triggers: [trigger] }) => trigger?.subscription);
  expect(states[7]).toEqual({ state: "failed", error: "no quota" });
  expect(states[8]).toBeUndefined();
});
