import { expect } from "vitest";
import { SECOND, START, sampleEvent } from "../../../../events/store/contract/sample.ts";
import type { It } from "../../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../../store.ts";
import type { NewRun } from "../../../runs/model.ts";
import { claim, runIds, sampleRun } from "../../../runs/store/contract/run-sample.ts";
import { eventTrigger, makeFlow, publish } from "../../../store/contract/flow-sample.ts";
import type { EventPlan, PlannedVerdict } from "../../model.ts";

const MINUTE = 60 * SECOND;
const reason = { on: "breaker", holds: false, message: "stopped" } as const;

const verdict = (overrides: Partial<PlannedVerdict> = {}): PlannedVerdict => ({
  flow_id: "a flow",
  node_id: "on event",
  version: 1,
  matched: true,
  reasons: [],
  ...overrides,
});
/** The verdict of a trigger that fires on an event of its own flow. */
const looping = (max: number, overrides: Partial<PlannedVerdict> = {}) =>
  verdict({ breaker: { limit: "loops", max, reason }, ...overrides });
/** The verdict of a trigger that the limit of the causation chain has stopped. */
const overChainLimit = (max: number) =>
  verdict({
    matched: false,
    reasons: [reason],
    breaker: { limit: "chain", max, reason },
  });

interface AppendOptions {
  tenant?: string;
  at?: number;
  /** The number of events in one request. */
  count?: number;
  /** Fields of the runs that the events start. */
  run?: Partial<NewRun>;
}

/** Appends events whose triggers have these verdicts. */
async function append(
  store: Store,
  verdicts: PlannedVerdict[],
  { tenant = "acme", at = START, count = 1, run = {} }: AppendOptions = {},
) {
  const events = Array.from({ length: count }, () => sampleEvent({ received_at: at }));
  const { revision } = await store.findTriggers(tenant, ["github"], "issues");
  const plans = events.map(({ id }): EventPlan => {
    const matched = verdicts.filter((planned) => planned.matched);
    return {
      verdicts,
      runs: matched.map(({ flow_id, node_id }) =>
        sampleRun({ tenant, flow_id, trigger_node: node_id, event_id: id, ...run }),
      ),
    };
  });
  const [appended] = await store.appendEvents(
    [{ tenant, events, plan: { revision, events: plans } }],
    null,
  );
  if (appended?.outcome !== "stored") throw new Error(`not stored: ${appended?.outcome}`);
  return { events, runs: plans.map(({ runs }) => runs), tripped: appended.tripped };
}

const runsOf = async (store: Store, tenant = "acme") =>
  (await store.listRuns({ tenant, limit: 100 })).map(({ id }) => id).toSorted();

export function breakersContract(it: It): void {
  it("limit how often a trigger fires per minute on events of its flow", async ({ store }) => {
    const first = await append(store, [looping(3)], { count: 2 });
    expect(first.tripped).toBeUndefined();
    const second = await append(store, [looping(3)], { count: 3, at: START + 1 });
    expect(second.tripped).toEqual(
      second.events.slice(1).map(({ id }, index) => ({
        limit: "loops",
        max: 3,
        event_id: id,
        flow_id: "a flow",
        node_id: "on event",
        isFirst: index === 0,
      })),
    );
    const started = [...first.runs, ...second.runs.slice(0, 1)].flat().map(({ id }) => id);
    expect(await runsOf(store)).toEqual(started.toSorted());
    expect(runIds(await claim(store)).toSorted()).toEqual(started.toSorted());
    // The events are stored, and the verdict of a stopped trigger has the reason.
    const [fired, stopped] = second.events;
    expect(await store.listVerdicts("acme", fired?.id ?? "")).toMatchObject([
      { matched: true, reasons: [], run_id: second.runs[0]?.[0]?.id },
    ]);
    expect(await store.listVerdicts("acme", stopped?.id ?? "")).toEqual([
      { ...verdict(), matched: false, reasons: [reason], run_id: null },
    ]);
    expect(await store.getEvent("acme", stopped?.id ?? "")).toMatchObject({ trigger_status: null });
  });

  it("allow a stopped trigger to fire again after a minute, but never if its limit is 0", async ({
    store,
  }) => {
    const fires = async (max: number, at: number) =>
      (await append(store, [looping(max)], { at })).tripped === undefined;
    expect(await fires(1, START)).toBe(true);
    expect(await fires(1, START + MINUTE - 1)).toBe(false);
    expect(await fires(1, START + MINUTE)).toBe(true);
    expect(await fires(1, START + 2 * MINUTE - 1)).toBe(false);
    expect(await fires(0, START + 9 * MINUTE)).toBe(false);
    // A small clock difference does not end the minute; a clock that was set back starts a new minute.
    expect(await fires(1, START + 20 * MINUTE)).toBe(true);
    expect(await fires(1, START + 20 * MINUTE - 5)).toBe(false);
    expect(await fires(1, START)).toBe(true);
  });

  it("count and stop each trigger of an event separately", async ({ store }) => {
    const looped = looping(1);
    const unlimited = verdict({ node_id: "unlimited" });
    const second = looping(1, { node_id: "second" });
    const unmatched = verdict({ node_id: "unmatched", matched: false });
    await append(store, [looped]);
    await append(store, [looped], { tenant: "umbrella" });
    const { events, runs, tripped } = await append(store, [unmatched, looped, second, unlimited]);
    expect(tripped).toMatchObject([{ node_id: "on event" }]);
    const [, secondRun, thirdRun] = runs[0] ?? [];
    expect(await store.listVerdicts("acme", events[0]?.id ?? "")).toMatchObject([
      { node_id: "on event", matched: false, run_id: null },
      { node_id: "second", matched: true, run_id: secondRun?.id },
      { node_id: "unlimited", matched: true, run_id: thirdRun?.id },
      { node_id: "unmatched", matched: false, run_id: null },
    ]);
    expect((await runsOf(store, "umbrella")).length).toBe(1);
  });

  it("count across restarts and concurrent replicas", async ({ store, reopen }) => {
    await append(store, [looping(4)]);
    const reopened = await reopen();
    await Promise.all([
      ...Array.from({ length: 5 }, () => append(store, [looping(4)])),
      ...Array.from({ length: 5 }, () => append(reopened, [looping(4)])),
    ]);
    expect((await runsOf(reopened)).length).toBe(4);
  });

  it("do not count gathered, skipped or duplicate runs", async ({ store }) => {
    // Events that are gathered into one run count once.
    const gather = { gather: { lane: "burst" }, due_at: START + 9 };
    const burst = await append(store, [looping(1)], { count: 5, run: gather });
    const more = await append(store, [looping(1)], { count: 5, run: gather });
    expect([burst.tripped, more.tripped]).toEqual([undefined, undefined]);
    const [target] = await runsOf(store);
    expect(await store.getRun("acme", target ?? "")).toMatchObject({ gathered_count: 9 });
    // After that run has started, the next run exceeds the limit.
    await claim(store, { now: START + 9 });
    const next = await append(store, [looping(1)], { count: 2, run: gather });
    expect(next.tripped).toMatchObject([{ max: 1, isFirst: true }, { isFirst: false }]);

    const skip = (lane: string) => ({
      run: { limit: { lane, max: 1, whenFull: "skip" as const } },
    });
    const second = looping(2, { node_id: "second" });
    const skipped = await append(store, [second], { count: 5, ...skip("a") });
    expect(skipped.tripped).toBeUndefined();
    expect((await append(store, [second], skip("b"))).tripped).toBeUndefined();
    const stopped = await append(store, [second, verdict({ node_id: "third" })], skip("c"));
    expect(stopped.tripped).toMatchObject([{ node_id: "second" }]);
    // A stopped run does not occupy its lane.
    expect(await store.listVerdicts("acme", stopped.events[0]?.id ?? "")).toMatchObject([
      { node_id: "second", matched: false, run_id: null },
      { node_id: "third", matched: true, run_id: stopped.runs[0]?.[1]?.id },
    ]);
    const same = { run: { key: "the same" } };
    const fourth = looping(1, { node_id: "fourth" });
    expect((await append(store, [fourth], { count: 3, ...same })).tripped).toBeUndefined();
  });

  it("report a stopped trigger and its limit once a minute", async ({ store }) => {
    const isFirst = async (planned: PlannedVerdict, at: number) =>
      (await append(store, [planned], { at })).tripped?.map((trip) => trip.isFirst);
    const trips = (since = 0, flows = ["another", "a flow"], tenant = "acme") =>
      store.listTrips(tenant, flows, since);
    expect(await trips()).toEqual([]);
    await append(store, [looping(1)]);
    expect(await trips()).toEqual([]);
    expect(await isFirst(looping(1), START + 1)).toEqual([true]);
    expect(await isFirst(overChainLimit(5), START + 2)).toEqual([false]);
    const expected = { flow_id: "a flow", node_id: "on event" };
    expect(await trips()).toEqual([{ ...expected, at: START + 1, limit: "loops", max: 1 }]);
    expect(await isFirst(overChainLimit(5), START + 1 + MINUTE)).toEqual([true]);
    expect(await trips()).toEqual([
      { ...expected, at: START + 1 + MINUTE, limit: "chain", max: 5 },
    ]);
    expect(await trips(START + 1 + MINUTE)).toHaveLength(1);
    expect(await trips(START + 2 + MINUTE)).toEqual([]);
    expect(await trips(0, ["another"])).toEqual([]);
    expect(await trips(0, [])).toEqual([]);
    expect(await trips(0, ["a flow"], "umbrella")).toEqual([]);
  });

  it("lose their history when their trigger is removed", async ({ store }) => {
    const flow = await makeFlow(store);
    const stopped = { ...overChainLimit(5), flow_id: flow.id };
    const trips = async () => (await store.listTrips("acme", [flow.id], 0)).length;
    await publish(store, flow, { triggers: [eventTrigger()] });
    await append(store, [stopped]);
    await publish(store, flow, { triggers: [eventTrigger()] });
    expect(await trips()).toBe(1);
    await publish(store, flow, { triggers: [eventTrigger({ node_id: "another" })] });
    expect(await trips()).toBe(0);
  });

  it("use the longest causation chain of all events that a run has gathered", async ({ store }) => {
    const gather = { lane: "burst" };
    const [target, deep, shallow] = [
      sampleRun({ gather, depth: 1 }),
      sampleRun({ gather, depth: 3, chain: ["a", "b"] }),
      sampleRun({ gather, depth: 2, chain: ["c"] }),
    ];
    await store.queueRuns([target]);
    await store.queueRuns([deep]);
    await store.queueRuns([shallow]);
    const expected = { depth: 3, chain: ["a", "b"], gathered_count: 2 };
    expect(await store.getRun("acme", target.id)).toMatchObject(expected);
    // The same holds if the events are gathered within one batch.
    const other = { lane: "other" };
    await store.queueRuns([
      { ...sampleRun({ gather: other, depth: 1 }), id: "first" },
      sampleRun({ gather: other, depth: 3, chain: ["a", "b"] }),
    ]);
    expect(await store.getRun("acme", "first")).toMatchObject({ depth: 3, chain: ["a", "b"] });
  });
}
