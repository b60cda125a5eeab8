import { expect, vi } from "vitest";
import type { NewTrigger } from "../flow-store.ts";
import type { Store } from "../store.ts";
import { eventTrigger, intents, makeFlow, publish, triggersOf } from "./flow-sample.ts";
import { START } from "./sample.ts";
import type { It } from "./subject.ts";

/** Creates a published flow with these triggers. */
async function publishTriggers(store: Store, triggers: NewTrigger[], owner = {}) {
  return publish(store, await makeFlow(store, intents(), owner), { triggers });
}

export function triggersContract(it: It): void {
  it("are found by source and event type, where a trigger without a type matches every type", async ({
    store,
  }) => {
    const flow = await publishTriggers(store, [
      eventTrigger({ node_id: "typed", config: { params: { a: 1 } } }),
      eventTrigger({ node_id: "any", type: null }),
      eventTrigger({ node_id: "endpoint", source: "endpoint 7" }),
      eventTrigger({ node_id: "other type", type: "push" }),
      eventTrigger({ node_id: "other source", source: "stripe", type: null }),
      eventTrigger({ node_id: "inactive", active: false }),
    ]);
    await publishTriggers(store, [eventTrigger()], { tenant: "umbrella" });
    const find = async (sources: string[], type: string) =>
      (await store.findTriggers("acme", sources, type)).triggers.map(({ node_id }) => node_id);
    expect(await find(["github"], "issues")).toEqual(["any", "typed"]);
    expect(await find(["github", "endpoint 7"], "issues")).toEqual(["any", "endpoint", "typed"]);
    expect(await find(["github", "github"], "star")).toEqual(["any"]);
    expect(await find(["stripe"], "issues")).toEqual(["other source"]);
    expect(await find([], "issues")).toEqual([]);
    const [, typed] = (await store.findTriggers("acme", ["github"], "issues")).triggers;
    expect(typed).toEqual({
      ...eventTrigger({ node_id: "typed", config: { params: { a: 1 } } }),
      tenant: "acme",
      app: "desk",
      flow_id: flow.id,
      version: 1,
    });
    expect(await store.getTrigger("acme", flow.id, "typed")).toEqual(typed);
    expect(await store.getTrigger("umbrella", flow.id, "typed")).toBeUndefined();
    expect(await store.listEventTriggers("acme", 100)).toHaveLength(6);
    expect(await store.listEventTriggers("acme", 2)).toHaveLength(2);
  });

  it("have a revision per tenant that increases with each change", async ({ store }) => {
    const revision = async (tenant = "acme") =>
      (await store.findTriggers(tenant, ["github"], "issues")).revision;
    expect(await revision()).toBe(0);
    const flow = await publishTriggers(store, [eventTrigger()]);
    expect(await revision()).toBe(1);
    await publish(store, flow, { triggers: [] });
    expect(await revision()).toBe(2);
    expect((await store.findTriggers("acme", ["github"], "issues")).triggers).toEqual([]);
    await store.deleteFlow({ tenant: "acme", id: flow.id }, START);
    expect(await revision()).toBe(3);
    await publishTriggers(store, [eventTrigger()]);
    await store.deleteApp("acme", "desk", START);
    expect(await revision()).toBe(5);
    expect(await revision("umbrella")).toBe(0);
  });

  it("are listed as tools of their app if they are active, in pages sorted by name", async ({
    store,
  }) => {
    const graph = intents("b", "d", "a", "c");
    const triggers = triggersOf(graph).map((trigger) => ({
      ...trigger,
      active: trigger.tool_name !== "c",
    }));
    const flow = await publish(store, await makeFlow(store, graph), {
      triggers: [...triggers, eventTrigger()],
    });
    await publish(store, await makeFlow(store, intents("bb")));
    await publish(store, await makeFlow(store, intents("other"), { app: "shop" }));
    await publish(store, await makeFlow(store, intents("theirs"), { tenant: "umbrella" }));
    await makeFlow(store, intents("draft"));
    const names = async (after: string, limit: number) =>
      (await store.listTools("acme", "desk", after, limit)).map(({ tool_name }) => tool_name);
    expect(await names("", 3)).toEqual(["a", "b", "bb"]);
    expect(await names("bb", 3)).toEqual(["d"]);
    expect(await names("d", 3)).toEqual([]);
    // An inactive tool is found, so that a call of it can report the reason.
    expect(await store.findTool("acme", "desk", "c", START)).toMatchObject({
      trigger: { active: false, flow_id: flow.id, node_id: "node c" },
    });
    expect(await store.findTool("acme", "desk", "draft", START)).toBeUndefined();
    expect(await store.findTool("acme", "desk", "theirs", START)).toBeUndefined();
  });

  it("cause notices only for committed changes", async ({ store, notices }) => {
    const flow = await publishTriggers(store, []);
    await store.publishFlow({ tenant: "acme", id: flow.id, ifRevision: 0 }, () => {
      throw new Error("called");
    });
    await store.deleteFlow({ tenant: "acme", id: flow.id }, START);
    await vi.waitFor(
      async () =>
        expect((await notices()).filter(({ topic }) => topic === "tools")).toEqual([
          { topic: "tools", tenant: "acme", app: "desk" },
          { topic: "tools", tenant: "acme", app: "desk" },
        ]),
      60_000,
    );
  });
}
