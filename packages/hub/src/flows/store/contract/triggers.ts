import { expect, vi } from "vitest";
import { appendRequest, START, sampleEvent } from "../../../events/store/contract/sample.ts";
import type { It } from "../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../store.ts";
import type { NewTrigger, TriggerPage } from "../../model.ts";
import { sampleRun } from "../../runs/store/contract/run-sample.ts";
import { eventTrigger, intents, makeFlow, publish, triggersOf } from "./flow-sample.ts";

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
  });

  it("are found and listed in pages, sorted by flow and node", async ({ store }) => {
    for (const id of ["a", "b"])
      await publish(store, await makeFlow(store, intents(), { id }), {
        triggers: [
          eventTrigger({ node_id: "1" }),
          eventTrigger({ node_id: "2", type: null }),
          eventTrigger({ node_id: "3", source: "endpoint 7" }),
          eventTrigger({ node_id: "4", active: false }),
          eventTrigger({ node_id: "5", type: "push" }),
          eventTrigger({ node_id: "6", source: "stripe", type: null }),
        ],
      });
    await publishTriggers(store, [eventTrigger()], { tenant: "umbrella" });
    const keysOf = (triggers: readonly { flow_id: string; node_id: string }[]) =>
      triggers.map(({ flow_id, node_id }) => `${flow_id}${node_id}`);
    const sources = ["github", "endpoint 7"];
    const find = async (page: TriggerPage) =>
      keysOf((await store.findTriggers("acme", sources, "issues", page)).triggers);
    expect(await find({ limit: 4 })).toEqual(["a1", "a2", "a3", "b1"]);
    expect(await find({ limit: 4, after: { flow_id: "a", node_id: "2" } })).toEqual([
      "a3",
      "b1",
      "b2",
      "b3",
    ]);
    const event = sampleEvent({ source: "github", source_id: "endpoint 7" });
    const verdict = (node_id: string, matched: boolean) => ({
      flow_id: "a",
      node_id,
      version: 1,
      matched,
      reasons: [],
    });
    const verdicts = [verdict("1", false), verdict("2", true), verdict("gone", true)];
    const { revision } = await store.findTriggers("acme", [], "");
    const run = sampleRun({ event_id: event.id, flow_id: "a", trigger_node: "2" });
    const plan = { verdicts, runs: [run, sampleRun({ event_id: event.id })] };
    const other = sampleEvent();
    await store.appendEvents(
      [{ ...appendRequest([event]), plan: { revision, events: [plan] } }, appendRequest([other])],
      null,
    );
    const list = async (listening: boolean, page: TriggerPage = {}) =>
      keysOf(
        await store.listEventTriggers(
          "acme",
          { id: event.id, sources, type: "issues" },
          { listening, ...page },
        ),
      );
    expect(await list(true)).toEqual(["a3", "a4", "b1", "b2", "b3", "b4"]);
    expect(await list(true, { limit: 2, after: { flow_id: "a", node_id: "3" } })).toEqual([
      "a4",
      "b1",
    ]);
    expect(await list(true, { flow: "b", limit: 1 })).toEqual(["b1"]);
    expect(await list(false)).toEqual(["a5", "a6", "b5", "b6"]);
    expect(await list(false, { limit: 2, after: { flow_id: "a", node_id: "5" } })).toEqual([
      "a6",
      "b5",
    ]);
    expect(await list(false, { flow: "b" })).toEqual(["b5", "b6"]);
    const stored = async (page?: TriggerPage & { matched: boolean }) =>
      keysOf(await store.listVerdicts("acme", event.id, page));
    expect(await stored()).toEqual(["a1", "a2", "agone"]);
    expect(await stored({ matched: false })).toEqual(["a1"]);
    expect(await stored({ matched: true, limit: 1 })).toEqual(["a2"]);
    const after = { flow_id: "a", node_id: "2" };
    expect(await stored({ matched: true, after, flow: "a" })).toEqual(["agone"]);
    expect(await store.countVerdicts("acme", event.id)).toEqual({
      revision,
      started: 2,
      total: 13,
    });
    expect(await store.countVerdicts("acme", event.id, "b")).toEqual({
      revision,
      started: 0,
      total: 6,
    });
    // This event was stored without a plan, so it was compared with no trigger.
    expect(await store.countVerdicts("acme", other.id)).toMatchObject({ revision: 0, total: 12 });
    expect(await store.countVerdicts("umbrella", event.id)).toBeUndefined();
  });

  it("have the revision at which their version was published", async ({ store }) => {
    const event = { id: "e", sources: ["github"], type: "issues" };
    const revisions = async () =>
      (await store.listEventTriggers("acme", event, { listening: true })).map(
        (trigger) => trigger.revision,
      );
    const first = await publishTriggers(store, [eventTrigger()]);
    await publishTriggers(store, [eventTrigger()]);
    expect((await revisions()).sort()).toEqual([1, 2]);
    await publish(store, first, { triggers: [eventTrigger()] });
    expect((await revisions()).sort()).toEqual([2, 3]);
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
