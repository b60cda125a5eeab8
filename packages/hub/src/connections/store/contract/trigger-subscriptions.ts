import { expect, vi } from "vitest";
import { allNotices } from "../../../events/store/contract/all-notices.ts";
import { DAY, START, sampleEvent } from "../../../events/store/contract/sample.ts";
import { sampleRun } from "../../../flows/runs/store/contract/run-sample.ts";
import { publication, setDraft } from "../../../flows/store/contract/flow-sample.ts";
import type { It } from "../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../store.ts";
import type { SubscriptionResult } from "../../model.ts";
import {
  leaseOne,
  publishTriggers,
  republish,
  sampleConnection,
  subscriptionsOf,
} from "./connection-sample.ts";

const ID = "weather-7kq2xv";
const POLL = { tool: "list", arguments: {}, items: "items", key: "id", everySeconds: 60 };

const list = (store: Store, connection = ID) => store.listTriggerSubscriptions("acme", connection);

/** Leases the connection, and finishes it with these results. */
async function record(store: Store, results: SubscriptionResult[]): Promise<void> {
  await leaseOne(store, { now: START + 1e6 });
  const result = { id: ID, revision: 1, next_at: START };
  expect(await store.finishConnection("keeper", result, results, START + 5)).toBe(true);
}

export function triggerSubscriptionsContract(it: It): void {
  it("exist for each published trigger that names a connection of the tenant", async ({
    store,
    reopen,
  }) => {
    await store.createConnection(sampleConnection(), START);
    await store.createConnection(sampleConnection({ id: "other-dddddd" }), START);
    await store.createConnection(sampleConnection({ id: "b-eeeeee", tenant: "umbrella" }), START);
    const flow = await publishTriggers(store, [
      { node_id: "storm", config: { params: { city: "Rome" } } },
      { node_id: "paused", active: false },
      { node_id: "any", type: null },
      { node_id: "polled", type: "rain", config: { params: {}, poll: POLL } },
      { node_id: "elsewhere", source: "other-dddddd" },
      { node_id: "theirs", source: "b-eeeeee" },
      { node_id: "webhook", source: "github" },
    ]);
    const reopened = await reopen();
    const subscriptions = await list(reopened);
    expect(subscriptions.find(({ node_id }) => node_id === "storm")).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      tenant: "acme",
      connection: ID,
      flow_id: flow.id,
      node_id: "storm",
      type: "storm",
      params: { city: "Rome" },
      poll: null,
      wanted: "active",
      state: "configuring",
      error: null,
      revision: 1,
      configured: 0,
      configured_type: null,
      token_generation: 0,
      position: null,
      attempt: 0,
      next_at: START,
      last_fired_at: null,
      created_at: START,
      updated_at: START,
    });
    const summary = subscriptions.map(({ node_id, type, wanted, poll }) => [
      node_id,
      type,
      wanted,
      poll,
    ]);
    expect(summary.sort()).toEqual([
      ["any", "", "active", null],
      ["paused", "storm", "paused", null],
      ["polled", "rain", "active", POLL],
      ["storm", "storm", "active", null],
    ]);
    expect(await list(reopened, "other-dddddd")).toMatchObject([{ node_id: "elsewhere" }]);
    expect(await reopened.listTriggerSubscriptions("umbrella", "b-eeeeee")).toEqual([]);
    expect(await reopened.listTriggerSubscriptions("umbrella", ID)).toEqual([]);
  });

  it("are created with a connection that is created after the flow, such as a restored one", async ({
    store,
  }) => {
    await publishTriggers(store, [{ node_id: "a" }, { node_id: "b", active: false }]);
    await publishTriggers(store, [{}], { tenant: "umbrella" });
    expect(await list(store)).toEqual([]);
    await store.createConnection(sampleConnection(), START + 1);
    const subscriptions = await list(store);
    expect(subscriptions.map(({ node_id, wanted }) => [node_id, wanted]).sort()).toEqual([
      ["a", "active"],
      ["b", "paused"],
    ]);
  });

  it("get a new revision when the trigger changes, keep their id, and make the connection due", async ({
    store,
    notices,
  }) => {
    await store.createConnection(sampleConnection(), START);
    const flow = await publishTriggers(store, [{}]);
    const [first] = await subscriptionsOf(store);
    const id = first?.id ?? "";
    await record(store, [
      { id, revision: 1, state: "active", configured: 1, configured_type: "storm", attempt: 2 },
    ]);
    const noticesBy = async (marker: string) =>
      (await allNotices({ store, notices }, marker)).filter(({ topic }) => topic !== "events");
    const before = (await noticesBy("before")).length;
    await republish(store, flow, [{}], START + 10);
    expect(await list(store)).toMatchObject([{ id, revision: 1, state: "active" }]);
    const newNotices = (await noticesBy("after")).slice(before);
    expect(newNotices.map(({ topic }) => topic)).toEqual(["tools", "flow"]);

    const changes = [
      { config: { params: { city: "Rome" } } },
      { type: "rain" },
      { type: "rain", active: false },
      { type: "rain", active: true },
      { type: "rain", config: { poll: POLL } },
    ];
    for (const [index, change] of changes.entries()) {
      const revision = index + 2;
      await record(store, [{ id, revision: revision - 1, state: "failed", error: "no" }]);
      await leaseOne(store, { now: START + 1e6 });
      await republish(store, flow, [change], START + 20);
      // After a change during a lease, the connection is due when the lease ends.
      const result = { id: ID, revision: 1, next_at: START + 900 };
      await store.finishConnection("keeper", result, [], START);
      expect(await store.nextConnectionDue()).toBe(START + 20);
      expect(await list(store)).toMatchObject([
        {
          id,
          revision,
          state: "configuring",
          error: null,
          configured: 1,
          configured_type: "storm",
          attempt: 0,
          next_at: START + 20,
          updated_at: START + 20,
        },
      ]);
    }
    await vi.waitFor(async () =>
      expect(await notices()).toContainEqual({ topic: "connections", due: START + 20 }),
    );
  });

  it("are to be removed when their trigger, flow or app is removed, and become active again with it", async ({
    store,
  }) => {
    await store.createConnection(sampleConnection(), START);
    const wanted = async () => (await subscriptionsOf(store)).map(({ wanted }) => wanted);
    const flow = await publishTriggers(store, [{ node_id: "a" }, { node_id: "b" }]);
    expect(await wanted()).toEqual(["active", "active"]);
    const [first] = await list(store);
    await republish(store, flow, [{ node_id: first?.node_id ?? "" }]);
    expect((await wanted()).sort()).toEqual(["active", "removed"]);
    expect(await list(store)).toMatchObject([{ id: first?.id }]);
    await republish(store, flow, [{ node_id: "a" }, { node_id: "b" }]);
    expect(await wanted()).toEqual(["active", "active"]);
    expect(await list(store)).toHaveLength(2);
    // A trigger that gets another source needs no subscription any more.
    await republish(store, flow, [{ node_id: "a", source: "github" }, { node_id: "b" }]);
    expect((await wanted()).sort()).toEqual(["active", "removed"]);

    await store.rollBackFlow(
      { tenant: "acme", id: flow.id },
      1,
      START,
      (graph) => setDraft("A flow", graph),
      publication({ triggers: [] }),
    );
    expect(await wanted()).toEqual(["removed", "removed"]);
    await republish(store, flow, [{ node_id: "a" }]);
    await store.deleteFlow({ tenant: "acme", id: flow.id }, START);
    expect(await wanted()).toEqual(["removed", "removed"]);
    const others = await publishTriggers(store, [{ node_id: "c" }]);
    await publishTriggers(store, [{ node_id: "d" }]);
    expect(await list(store)).toHaveLength(2);
    await store.deleteApp("acme", others.app, START);
    expect(await wanted()).toEqual(Array(4).fill("removed"));
    expect(await list(store)).toEqual([]);
  });

  it("record progress, but only facts about the server if the trigger has changed meanwhile", async ({
    store,
  }) => {
    await store.createConnection(sampleConnection(), START);
    const poll = { poll: POLL };
    const flow = await publishTriggers(store, [{ config: poll }]);
    const [{ id = "" } = {}] = await list(store);
    const result = {
      id,
      revision: 1,
      state: "failed",
      error: "full\0 up",
      configured: 1,
      configured_type: "storm",
      position: { cursor: "1" },
      attempt: 2,
      next_at: START + 7,
    } as const;
    await record(store, [result, { ...result, id: "none" }]);
    const stored = { ...result, error: "full up", updated_at: START };
    expect(await list(store)).toMatchObject([stored]);
    await leaseOne(store, { now: START + 1e6 });
    expect(
      await store.saveSubscriptions("keeper", ID, [{ id, revision: 1, attempt: 3 }], START + 6),
    ).toBe(true);
    expect(await list(store)).toMatchObject([{ ...stored, attempt: 3, updated_at: START }]);
    await store.releaseConnections("keeper");

    await republish(store, flow, [{ config: { poll: { ...POLL, everySeconds: 90 } } }], START + 20);
    await record(store, [{ ...result, configured_type: "rain", position: { cursor: "2" } }]);
    const reset = { revision: 2, state: "configuring", error: null, attempt: 0 };
    expect(await list(store)).toMatchObject([
      { ...reset, configured_type: "rain", position: { cursor: "2" }, next_at: START + 20 },
    ]);
    await republish(store, flow, [{ config: { poll: { ...POLL, tool: "other" } } }], START + 20);
    expect(await list(store)).toMatchObject([{ revision: 3, position: null }]);
    await record(store, [{ ...result, revision: 2 }]);
    expect(await list(store)).toMatchObject([{ revision: 3, position: null }]);
  });

  it("reset their position when the type changes or they are paused, but not when the params change", async ({
    store,
  }) => {
    await store.createConnection(sampleConnection(), START);
    const flow = await publishTriggers(store, [{ type: "storm" }]);
    const [{ id = "" } = {}] = await list(store);
    const positionAfter = async (trigger: Parameters<typeof republish>[2][number]) => {
      const [{ revision = 0 } = {}] = await list(store);
      await record(store, [{ id, revision, position: { cursor: "1" } }]);
      await republish(store, flow, [trigger], START + 20);
      return (await list(store))[0]?.position;
    };
    const params = { params: { city: "Rome" } };
    expect(await positionAfter({ type: "storm", config: params })).toEqual({ cursor: "1" });
    expect(await positionAfter({ type: "rain", config: params })).toBeNull();
    expect(await positionAfter({ type: "rain", config: params, active: false })).toBeNull();
  });

  it("are deleted only if they are still to be removed", async ({ store }) => {
    await store.createConnection(sampleConnection(), START);
    const flow = await publishTriggers(store, [{}]);
    const [{ id = "" } = {}] = await list(store);
    await record(store, [{ id, revision: 1, isRemoved: true }]);
    expect(await list(store)).toHaveLength(1);
    await republish(store, flow, []);
    await republish(store, flow, [{}]);
    await record(store, [{ id, revision: 2, isRemoved: true, configured_type: null }]);
    expect(await list(store)).toMatchObject([{ id, revision: 3 }]);
    await republish(store, flow, []);
    await record(store, [{ id, revision: 4, isRemoved: true }]);
    expect(await subscriptionsOf(store)).toEqual([]);
  });

  it("are configured again if the server, its credentials or their token must change", async ({
    store,
  }) => {
    await store.createConnection(sampleConnection(), START);
    await publishTriggers(store, [{}]);
    const [{ id = "" } = {}] = await list(store);
    await record(store, [{ id, revision: 1, state: "active", configured: 1 }]);
    await store.updateConnection("acme", ID, { name: "Rain" }, START + 1);
    expect(await list(store)).toMatchObject([{ revision: 1, state: "active" }]);
    await store.updateConnection("acme", ID, { sealed: "other" }, START + 1);
    expect(await list(store)).toMatchObject([{ revision: 2, configured: 1, state: "configuring" }]);
    const rotation = { revokeNow: false, at: START + 2 };
    expect(await store.rotateCallbackToken("umbrella", ID, id, rotation)).toBe(false);
    expect(await store.rotateCallbackToken("acme", "other", id, rotation)).toBe(false);
    expect(await list(store)).toMatchObject([{ revision: 2, token_generation: 0 }]);
    expect(await store.rotateCallbackToken("acme", ID, id, rotation)).toBe(true);
    expect(await list(store)).toMatchObject([
      { revision: 3, configured: 1, state: "configuring", next_at: START + 2, token_generation: 1 },
    ]);
  });

  it("are renewed when they are active and configured, without a change", async ({ store }) => {
    await store.createConnection(sampleConnection(), START);
    await publishTriggers(store, [
      { node_id: "active" },
      { node_id: "new" },
      { node_id: "paused", active: false },
    ]);
    const byNode = async () =>
      Object.fromEntries((await list(store)).map((each) => [each.node_id, each]));
    const { active, new: created, paused } = await byNode();
    const later = { revision: 1, next_at: START + DAY };
    await record(store, [
      { id: active?.id ?? "", ...later, state: "active", configured: 1, configured_type: "storm" },
      { id: created?.id ?? "", ...later },
      { id: paused?.id ?? "", ...later, state: "paused", configured: 1 },
    ]);
    await store.renewSubscriptions("umbrella", ID, START + 1);
    expect((await byNode()).active).toMatchObject({ next_at: START + DAY });
    await store.renewSubscriptions("acme", ID, START + 1);
    expect(await byNode()).toMatchObject({
      active: { next_at: START + 1, revision: 1, state: "active", token_generation: 0 },
      new: { next_at: START + DAY },
      paused: { next_at: START + DAY },
    });
    expect((await leaseOne(store, { now: START + 1 }))?.connection.id).toBe(ID);
  });

  it("are listed with their states, except removed ones and those of other tenants", async ({
    store,
  }) => {
    await store.createConnection(sampleConnection(), START);
    const flow = await publishTriggers(store, [{ node_id: "a" }, { node_id: "b" }]);
    const id = (await list(store)).find(({ node_id }) => node_id === "a")?.id ?? "";
    await record(store, [{ id, revision: 1, state: "failed", error: "no quota" }]);
    const fields = {
      ...{ flow_id: flow.id, connection: ID, type: "storm", wanted: "active" },
      ...{ assumed: {}, updated_at: START },
    };
    expect(await store.listSubscriptionStates("acme", ["other", flow.id])).toEqual([
      { ...fields, node_id: "a", state: "failed", error: "no quota" },
      { ...fields, node_id: "b", state: "configuring", error: null },
    ]);
    const position = { callbackUrl: "https://hub.example", assumed: { area: "ui" } };
    const sent = { id, revision: 1, configured_type: "storm", position };
    await record(store, [{ ...sent, state: "active", error: null }]);
    expect(await store.listSubscriptionStates("acme", [flow.id])).toMatchObject([
      { node_id: "a", state: "active", assumed: { area: "ui" } },
      { node_id: "b", assumed: {} },
    ]);
    expect(await store.listSubscriptionStates("acme", ["other"])).toEqual([]);
    expect(await store.listSubscriptionStates("umbrella", [flow.id])).toEqual([]);
    await republish(store, flow, []);
    expect(await store.listSubscriptionStates("acme", [flow.id])).toEqual([]);
  });

  it("notify of a changed state, error or assumed default", async ({ store, notices }) => {
    await store.createConnection(sampleConnection(), START);
    const flow = await publishTriggers(store, [{ node_id: "a" }]);
    const [{ id = "" } = {}] = await list(store);
    const count = async (marker: string) =>
      (await allNotices({ store, notices }, marker)).filter(
        ({ topic }) => topic === "subscriptions",
      );
    const changed = { topic: "subscriptions", tenant: "acme", flows: [flow.id] };
    await record(store, [{ id, revision: 1, next_at: START + 1 }]);
    expect(await count("first")).toEqual([]);
    await record(store, [{ id, revision: 1, state: "failed", error: "no quota" }]);
    await record(store, [{ id, revision: 1, state: "failed", error: "no quota" }]);
    expect(await count("second")).toEqual([changed]);
    await record(store, [{ id, revision: 1, state: "active", error: null }]);
    expect(await count("third")).toEqual([changed, changed]);
    const sent = { id, revision: 1, configured_type: "storm" };
    const position = { callbackUrl: "https://hub.example", assumed: { area: "ui" } };
    await record(store, [{ ...sent, position }]);
    await record(store, [{ ...sent, position }]);
    expect(await count("fourth")).toEqual([changed, changed, changed]);
  });

  it("have the time when an event last started a run of their trigger, however many runs followed", async ({
    store,
  }) => {
    await store.createConnection(sampleConnection(), START);
    const flow = await publishTriggers(store, [{ node_id: "a" }, { node_id: "b" }]);
    const { revision } = await store.findTriggers("acme", [ID], "storm");
    const fire = async (node_id: string, at: number, { source_id = ID, skipped = false } = {}) => {
      const event = sampleEvent({ source: ID, source_id, external_id: null, received_at: at });
      const verdict = { flow_id: flow.id, node_id, version: 1, matched: !skipped, reasons: [] };
      const run = { flow_id: flow.id, trigger_node: node_id, event_id: event.id, at };
      const plan = { verdicts: [verdict], runs: skipped ? [] : [sampleRun(run)] };
      const request = { tenant: "acme", events: [event], plan: { revision, events: [plan] } };
      expect(await store.appendEvents([request], null)).toMatchObject([{ outcome: "stored" }]);
    };
    const fired = async () =>
      (await list(store)).map(({ node_id, last_fired_at }) => [node_id, last_fired_at]).sort();
    await fire("a", START + 4);
    await fire("a", START + 900); // within the same second
    await fire("b", START + 5, { skipped: true });
    await fire("b", START + 6, { source_id: "an endpoint" });
    const runs = Array.from({ length: 1_100 }, () => sampleRun({ flow_id: flow.id }));
    await store.queueRuns(runs);
    expect(await fired()).toEqual([
      ["a", START + 4],
      ["b", null],
    ]);
    await fire("a", START + 1_004);
    await fire("b", START + 7);
    await fire("a", START + 3); // an older event, of another replica
    expect(await fired()).toEqual([
      ["a", START + 1_004],
      ["b", START + 7],
    ]);
  });
}
