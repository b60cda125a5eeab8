import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import { expect, it } from "vitest";
import { RequestError } from "../lib/request-error.ts";
import type { FlowGraph } from "../store/flow-store.ts";
import { createAutomations } from "./automations.ts";

const at = { position: { x: 0, y: 0 } };
const agent = { id: "agent", type: "Agent", name: "Agent", slug: "agent", ...at, parameters: {} };
const parameters = { source: "github", type: "issues" };
const trigger = { id: "t0", type: "Event", name: "Event", slug: "event", ...at, parameters };
const edge = { id: "e0", source: "t0", sourceHandle: "out", target: "agent", targetHandle: "in" };

/** The automations of a flow that another client edits during each of the first `conflicts` publications. */
function open({ conflicts = 1, error = new RequestError("changed", "if-match", "changed") } = {}) {
  const state = {
    revision: 1,
    graph: { nodes: [agent, trigger], edges: [edge] } as FlowGraph,
    published: [] as number[],
    removed: 0,
  };
  const flow = () => ({ ...state, tenant: "acme", id: "f", version: 1, schedules: [] });
  const flows = {
    get: async () => flow(),
    create: async () => flow(),
    async remove() {
      state.removed += 1;
      throw new Error("no connection");
    },
    async change({ ifRevision }: { ifRevision: number }, change: Partial<FlowGraph>) {
      if (ifRevision !== state.revision) throw error;
      state.revision += 1;
      state.graph = { ...state.graph, ...change };
      return flow();
    },
    async publish({ ifRevision }: { ifRevision: number }) {
      if (conflicts > 0) {
        conflicts -= 1;
        state.revision += 1;
        throw error;
      }
      expect(ifRevision).toBe(state.revision);
      state.published.push(ifRevision);
      return flow();
    },
  };
  let ids = 0;
  const options = {
    flows,
    registry: nodeTypes,
    newId: () => `new${ids++}`,
    timers: { now: () => 1 },
    store: {
      createApp: async () => {},
      getVersion: async () => state.graph,
      listTriggerSubscriptions: async () => [],
    },
  };
  return { automations: createAutomations(options as never), state };
}

const how = { by: "me", draft: false };
const event = { kind: "event" as const, name: "X", config: { source: "github", type: "x" } };

it("adds a trigger once while another client edits the flow, and publishes both changes", async () => {
  const { automations, state } = open();
  const { triggerId } = await automations.addTrigger("acme", "f", event as never, how);
  expect(state.graph.nodes.map(({ id }) => id)).toEqual(["agent", "t0", triggerId]);
  expect(state.published).toEqual([3]);
});

it("removes a trigger while another client edits the flow", async () => {
  const { automations, state } = open();
  await automations.removeTrigger("acme", "f", "t0", how);
  expect(state.graph.nodes.map(({ id }) => id)).toEqual(["agent"]);
  expect(state.published).toEqual([3]);
});

it("reports that the change is a draft if it cannot be published", async () => {
  const { automations, state } = open({ conflicts: 9 });
  await expect(automations.removeTrigger("acme", "f", "t0", how)).rejects.toThrow(
    "The change is saved as a draft, but it is not published. changed",
  );
  expect(state.published).toEqual([]);
});

it("reports why a new automation cannot be published, also if it cannot be removed", async () => {
  const { automations, state } = open({ error: new RequestError("invalid", "nodes", "no model") });
  const given = { name: "A", agent: {}, triggers: [] };
  await expect(automations.create("acme", given, how)).rejects.toThrow("no model");
  expect(state.removed).toBe(1);
});
