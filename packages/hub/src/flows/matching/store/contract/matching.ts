import { expect } from "vitest";
import { allNotices } from "../../../../events/store/contract/all-notices.ts";
import {
  DAY,
  ids,
  START,
  sampleEvent,
  sampleEvents,
} from "../../../../events/store/contract/sample.ts";
import type { It } from "../../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../../store.ts";
import { FAR, sampleRun } from "../../../runs/store/contract/run-sample.ts";
import { eventTrigger, makeFlow, publish } from "../../../store/contract/flow-sample.ts";
import type { EventPlan, MatchingClaim, PlannedVerdict } from "../../model.ts";

const CLAIM = 30;
const TRIGGERS = [{ flow_id: "a flow", node_id: "on event" }];
const NOTHING: EventPlan = { verdicts: [], runs: [] };

/** Stores events that are not matched yet, and that can be claimed from `due` on. */
async function defer(
  store: Store,
  { tenant = "acme", count = 1, due = START, revision = 0, at = START } = {},
): Promise<string[]> {
  const events = sampleEvents(count, (index) => ({ received_at: at + index }));
  const plan = {
    revision,
    events: events.map(
      (): EventPlan => ({ ...NOTHING, deferred: { triggers: TRIGGERS, until: due } }),
    ),
  };
  const [appended] = await store.appendEvents([{ tenant, events, plan }], null);
  expect(appended?.outcome).toBe("stored");
  return ids(events);
}

const claim = async (store: Store, overrides: Partial<MatchingClaim> = {}) => {
  const now = overrides.now ?? START;
  return store.claimMatching({
    now,
    until: now + CLAIM,
    limit: 10,
    after: "",
    room: () => 10,
    ...overrides,
  });
};
const claimedIds = async (store: Store, overrides: Partial<MatchingClaim> = {}) =>
  ids((await claim(store, overrides)).claimed);

const verdict = (overrides: Partial<PlannedVerdict> = {}): PlannedVerdict => ({
  flow_id: "a flow",
  node_id: "on event",
  version: 1,
  matched: true,
  reasons: [],
  ...overrides,
});
const planOf = (event_id: string, tenant = "acme"): EventPlan => ({
  verdicts: [verdict(), verdict({ node_id: "other", matched: false })],
  runs: [sampleRun({ tenant, event_id, trigger_node: "on event" })],
});
/** A plan without runs, which would protect the event from retention. */
const MISSED: EventPlan = { verdicts: [verdict({ matched: false })], runs: [] };

export function matchingContract(it: It): void {
  it("stores an event without verdicts and runs, and notifies of it", async ({
    store,
    notices,
  }) => {
    const [id = ""] = await defer(store, { due: START + 5 });
    expect(await store.getEvent("acme", id)).toMatchObject({ trigger_status: "matching" });
    expect(await store.listVerdicts("acme", id)).toEqual([]);
    expect(await store.listDeferred("acme", id)).toEqual(TRIGGERS);
    expect(await store.listDeferred("initech", id)).toEqual([]);
    expect(await store.nextMatchingDue()).toBe(START + 5);
    expect(await store.countMatching(10)).toBe(1);
    expect(await allNotices({ store, notices })).toContainEqual({
      topic: "matching",
      due: START + 5,
    });
  });

  it("claims due events in the order of their arrival, and again when a claim has ended", async ({
    store,
  }) => {
    const [a = "", b = ""] = await defer(store, { count: 2 });
    await defer(store, { due: START + 1, at: START + 10 });
    const { claimed } = await claim(store);
    expect(claimed).toEqual([
      { tenant: "acme", id: a, attempts: 1, triggers: TRIGGERS },
      { tenant: "acme", id: b, attempts: 1, triggers: TRIGGERS },
    ]);
    expect(await claimedIds(store)).toEqual([]);
    expect(await store.nextMatchingDue()).toBe(START + 1);
    expect((await claim(store, { now: START + CLAIM })).claimed).toMatchObject([
      { id: a, attempts: 2 },
      { id: b, attempts: 2 },
      { attempts: 1 },
    ]);
  });

  it("serves tenants round robin, and only as far as they have room", async ({ store }) => {
    for (const tenant of ["acme", "initech", "umbrella"]) await defer(store, { tenant, count: 5 });
    const room = (tenant: string) => (tenant === "initech" ? 0 : 2);
    const first = await claim(store, { limit: 3, room });
    expect(first.claimed.map(({ tenant }) => tenant)).toEqual(["acme", "acme", "umbrella"]);
    const second = await claim(store, { limit: 3, room, after: first.after });
    expect(second.claimed.map(({ tenant }) => tenant)).toEqual(["acme", "acme", "umbrella"]);
    const third = await claim(store, { limit: 1, after: "acme" });
    expect(third.claimed.map(({ tenant }) => tenant)).toEqual(["initech"]);
  });

  it("stores verdicts and runs once, and the status of the event", async ({ store, notices }) => {
    const [a = "", b = ""] = await defer(store, { count: 2 });
    const before = (await store.getTenant("acme"))?.bytes ?? 0;
    const finished = [
      { tenant: "acme", id: a, attempts: 0, revision: 0, plan: planOf(a) },
      { tenant: "acme", id: b, attempts: 0, revision: 0, plan: NOTHING },
    ];
    expect(await store.finishMatching(finished)).toEqual([
      { outcome: "matched", tripped: [] },
      { outcome: "matched", tripped: [] },
    ]);
    expect(await store.getEvent("acme", a)).toMatchObject({ trigger_status: "pending" });
    expect(await store.getEvent("acme", b)).toMatchObject({ trigger_status: null });
    const after = (await store.getTenant("acme"))?.bytes ?? 0;
    expect(after).toBeGreaterThan(before);
    const [run] = await store.listRuns({ tenant: "acme", limit: 10 });
    expect(await store.listVerdicts("acme", a)).toMatchObject([
      { node_id: "on event", matched: true, run_id: run?.id },
      { node_id: "other", matched: false, run_id: null },
    ]);
    expect(await store.nextMatchingDue()).toBeNull();
    expect(
      (await allNotices({ store, notices })).filter(({ topic }) => topic === "changed"),
    ).toEqual([
      { topic: "changed", tenant: "acme", ids: [a] },
      { topic: "changed", tenant: "acme", ids: [b] },
    ]);

    // Another process has matched the events too.
    expect(await store.finishMatching(finished)).toEqual([
      { outcome: "gone" },
      { outcome: "gone" },
    ]);
    expect(await store.listRuns({ tenant: "acme", limit: 10 })).toHaveLength(1);
  });

  it("rejects a plan of former triggers, and plans of unknown events", async ({ store }) => {
    const [id = ""] = await defer(store);
    await publish(store, await makeFlow(store), { triggers: [eventTrigger()] });
    const { revision } = await store.findTriggers("acme", ["github"], "issues");
    const finish = (overrides: object) =>
      store.finishMatching([
        { tenant: "acme", id, attempts: 0, revision, plan: planOf(id), ...overrides },
      ]);
    expect(await finish({ revision: revision - 1 })).toEqual([{ outcome: "stale" }]);
    expect(await finish({ id: "unknown" })).toEqual([{ outcome: "gone" }]);
    expect(await finish({ tenant: "nobody" })).toEqual([{ outcome: "gone" }]);
    expect(await store.listRuns({ tenant: "acme", limit: 10 })).toEqual([]);
    expect(await finish({})).toMatchObject([{ outcome: "matched" }]);
    expect(await store.listRuns({ tenant: "acme", limit: 10 })).toHaveLength(1);
  });

  it("stores the runs of other triggers with the event", async ({ store }) => {
    const event = sampleEvent();
    const { id } = event;
    const plan = { ...planOf(id), deferred: { triggers: TRIGGERS, until: START } };
    await store.appendEvents(
      [{ tenant: "acme", events: [event], plan: { revision: 0, events: [plan] } }],
      null,
    );
    expect(await store.getEvent("acme", id)).toMatchObject({ trigger_status: "pending" });
    expect(await store.listVerdicts("acme", id)).toHaveLength(2);
    expect(await claimedIds(store)).toEqual([id]);
    await store.finishMatching([{ tenant: "acme", id, attempts: 1, revision: 0, plan: NOTHING }]);
    expect(await store.getEvent("acme", id)).toMatchObject({ trigger_status: "pending" });
    expect(await store.nextMatchingDue()).toBeNull();
  });

  it("keeps the event for the triggers that are still not compared", async ({ store, notices }) => {
    const [id = ""] = await defer(store);
    const rest = [{ flow_id: "slow", node_id: "on event" }];
    const finish = (attempts: number, plan: EventPlan) =>
      store.finishMatching([{ tenant: "acme", id, attempts, revision: 0, plan }]);
    const part = { ...planOf(id), deferred: { triggers: rest, until: START + 9 } };
    expect(await finish(0, part)).toMatchObject([{ outcome: "matched" }]);
    expect(await store.listDeferred("acme", id)).toEqual(rest);
    expect(await store.nextMatchingDue()).toBe(START + 9);
    expect(await allNotices({ store, notices })).toContainEqual({
      topic: "matching",
      due: START + 9,
    });
    await claim(store, { now: START + 9 });
    // Only the latest claim is valid.
    expect(await finish(0, NOTHING)).toEqual([{ outcome: "gone" }]);
    expect(await finish(1, NOTHING)).toMatchObject([{ outcome: "matched" }]);
    expect(await store.listVerdicts("acme", id)).toHaveLength(2);
  });

  it("returns the triggers that a circuit breaker has stopped", async ({ store }) => {
    const [id = ""] = await defer(store);
    const breaker = {
      limit: "filter",
      max: 1,
      reason: { on: "breaker", holds: false, message: "stopped" },
    } as const;
    const plan = { verdicts: [verdict({ matched: false, breaker })], runs: [] };
    expect(
      await store.finishMatching([{ tenant: "acme", id, attempts: 0, revision: 0, plan }]),
    ).toEqual([
      {
        outcome: "matched",
        tripped: [
          {
            limit: "filter",
            max: 1,
            event_id: id,
            flow_id: "a flow",
            node_id: "on event",
            isFirst: true,
          },
        ],
      },
    ]);
    expect(await store.listTrips("acme", ["a flow"], 0)).toMatchObject([{ limit: "filter" }]);
  });

  it("releases claims", async ({ store, notices }) => {
    const [id = ""] = await defer(store);
    await claim(store);
    await store.moveMatching([{ tenant: "acme", id, attempts: 0 }], START + 5);
    expect(await store.nextMatchingDue()).toBe(START + CLAIM); // only the latest claim is valid
    await store.moveMatching([{ tenant: "acme", id, attempts: 1 }], START + 7);
    expect(await store.nextMatchingDue()).toBe(START + 7);
    expect(await allNotices({ store, notices })).toContainEqual({
      topic: "matching",
      due: START + 7,
    });
    expect(await claimedIds(store, { now: START + 7 })).toEqual([id]);
  });

  it("keeps events that are not matched, whatever their age and size", async ({ store }) => {
    const [id = ""] = await defer(store);
    await store.markProcessed("acme", [id], START, null);
    const retention = {
      ...{ now: START + 100 * DAY, steps: [], processedFor: 0, pendingFor: 0 },
      ...{ maxBytes: 0, limit: 10 },
    };
    const sweep = () => store.sweep(retention);
    expect(await sweep()).toMatchObject({ processed: 0, expired: 0, overflow: 0 });
    await store.finishMatching([{ tenant: "acme", id, attempts: 0, revision: 0, plan: MISSED }]);
    expect(await sweep()).toMatchObject({ processed: 1 });
    expect(await store.getTenant("acme")).toMatchObject({ bytes: 0 });
  });

  it("deletes the rows of a deleted tenant", async ({ store }) => {
    const [id = ""] = await defer(store);
    await store.startDeletion("acme", START);
    while (!(await store.continueDeletion("acme", 10)));
    expect(await store.nextMatchingDue()).toBeNull();
    expect(await claimedIds(store, { now: FAR })).toEqual([]);
    expect(
      await store.finishMatching([
        { tenant: "acme", id, attempts: 0, revision: 0, plan: planOf(id) },
      ]),
    ).toEqual([{ outcome: "gone" }]);
    await store.appendEvents([{ tenant: "initech", events: [sampleEvent()] }], null);
  });
}
