import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import { expect, it } from "vitest";
import type { StoredFlow, StoredTrigger } from "../model.ts";
import { findOnlyTool } from "./published-trigger.ts";

const nodeOf = (id: string): FlowNode => ({
  id,
  slug: `slug_${id}`,
  name: id,
  type: "Any",
  position: { x: 0, y: 0 },
  parameters: {},
});

/** Finds the only tool of a flow. A trigger is written as `id kind`, with `off` if it is not active. */
const find = (triggers: string[], version: number | null = 1) => {
  const rows = new Map(
    triggers.map((text) => {
      const [id = "", kind = "", off] = text.split(" ");
      return [id, { node_id: id, kind, active: off === undefined } as StoredTrigger];
    }),
  );
  const lookedUp: string[] = [];
  const store = {
    getFlow: async () => ({ name: "Weather", version }) as StoredFlow,
    getVersion: async () => ({
      nodes: [...rows.keys(), "end"].map(nodeOf),
      edges: [...rows.keys()].map((source) => ({
        id: source,
        source,
        target: "end",
        sourceHandle: "out",
        targetHandle: "in",
      })),
    }),
    getTrigger: async (_tenant: string, _flow: string, id: string) => {
      lookedUp.push(id);
      return rows.get(id);
    },
  };
  return findOnlyTool(store, "local", "weather").then((found) => ({ found, lookedUp }));
};

it("finds the only active tool, and looks up only nodes without incoming edges", async () => {
  const { found, lookedUp } = await find(["a intent off", "b intent", "c event"]);
  expect(found).toMatchObject({ outcome: "found", node: { id: "b" }, trigger: { node_id: "b" } });
  expect(lookedUp).toEqual(["a", "b", "c"]);
});

it("returns an outcome for several tools, no tool, and a flow that is not published", async () => {
  expect((await find(["a intent", "b intent"])).found).toEqual({
    outcome: "several_tools",
    flow: "Weather",
    tools: ["slug_a", "slug_b"],
  });
  expect((await find(["a event", "b intent off"])).found).toEqual({
    outcome: "no_trigger",
    flow: "Weather",
  });
  expect((await find([], null)).found).toEqual({ outcome: "not_published", flow: "Weather" });
});
