import { expect } from "vitest";
import type { NewEvent } from "../../../../events/model.ts";
import type { Retention } from "../../../../events/retention/model.ts";
import {
  allEvents,
  appendEvents,
  DAY,
  ids,
  START,
  sampleEvents,
} from "../../../../events/store/contract/sample.ts";
import type { It, Subject } from "../../../../kernel/store/contract/subject.ts";
import type { EventPlan } from "../../../matching/model.ts";
import type { NewRun } from "../../model.ts";
import {
  claim,
  claimExactly,
  failed,
  LEASE,
  lease,
  sampleRun,
  sampleRuns,
  sampleStep,
  save,
} from "./run-sample.ts";

type Database = Pick<Subject, "store" | "sql">;

/** Expects that the sum of the tenant equals a new count of the rows. Returns the bytes of each ended run. */
async function countBytes({ store, sql }: Database, tenant = "acme"): Promise<number[]> {
  const rows = await sql(
    `SELECT stored, finished_at FROM runs WHERE tenant_id = '${tenant}' ORDER BY id`,
  );
  for (const { stored, finished_at } of rows) expect(stored === null).toBe(finished_at === null);
  const sizes = rows.flatMap(({ stored }) => (stored === null ? [] : [Number(stored)]));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  expect((await store.getTenant(tenant))?.runs_bytes ?? 0).toBe(total);
  return sizes;
}

const sweep = ({ store }: Database, overrides: Partial<Retention>) =>
  store.sweep({
    now: START,
    processedFor: 3 * DAY,
    pendingFor: 90 * DAY,
    maxBytes: 1e12,
    limit: 100,
    ...overrides,
  });

const text = (length: number) => ({ text: "x".repeat(length) });

/** Stores runs with the ids `00000001`, `00000002`, …, which are older than all events, and ends them. */
async function endRuns(
  { store }: Database,
  count: number,
  overrides: Partial<NewRun> = {},
): Promise<string[]> {
  const runs = sampleRuns(count, (at) => ({ id: String(at + 1).padStart(8, "0"), ...overrides }));
  await store.queueRuns(runs);
  await save(store, await claimExactly(store, count, { limit: count }), {
    steps: [sampleStep({ output: text(1_000) })],
    next: failed,
  });
  return ids(runs);
}

export function runUsageContract(it: It): void {
  it("counts the values of a run and of its steps when it ends", async (subject) => {
    const { store } = subject;
    await store.queueRuns(sampleRuns(4, (at) => ({ input: text(at === 0 ? 5_000 : 0) })));
    const [input, step, output, small] = await claimExactly(store, 4);
    await save(store, [step], { steps: [sampleStep({ output: text(20_000) })] });
    expect(await countBytes(subject)).toEqual([]);
    await save(store, [input, step, small]);
    await save(store, [output], { next: { status: "succeeded", output: text(10_000) } });
    const [first = 0, second = 0, third = 0, least = 0] = await countBytes(subject);
    expect(least).toBeGreaterThan(500);
    expect(first - least).toBeGreaterThanOrEqual(5_000);
    expect(second - least).toBeGreaterThanOrEqual(20_000);
    expect(third - least).toBeGreaterThanOrEqual(9_900);
  });

  it("counts runs that are cancelled, also those that they have called", async (subject) => {
    const { store } = subject;
    const caller = sampleRun();
    await store.queueRuns([caller]);
    await save(store, await claimExactly(store, 1), {
      steps: [sampleStep({ status: "waiting" })],
      next: { status: "waiting", due_at: START + DAY },
    });
    const called = sampleRun({ parent_run: caller.id, depth: 1 });
    await store.queueRuns([called, sampleRun({ parent_run: called.id, depth: 2 })]);
    await store.cancelRun("acme", caller.id, START);
    expect(await countBytes(subject)).toHaveLength(3);
  });

  it("counts runs whose caller ends, and runs that are cancelled when they would be suspended", async (subject) => {
    const { store } = subject;
    const caller = sampleRun();
    await store.queueRuns([caller]);
    const callers = await claimExactly(store, 1);
    await store.queueRuns([sampleRun({ parent_run: caller.id, depth: 1 })]);
    await save(store, callers);
    expect(await countBytes(subject)).toHaveLength(2);
    const suspended = sampleRun();
    await store.queueRuns([suspended]);
    const claimed = await claimExactly(store, 1);
    await store.cancelRun("acme", suspended.id, START);
    await save(store, claimed, { next: { status: "waiting", due_at: START + DAY } });
    expect(await countBytes(subject)).toHaveLength(3);
  });

  it("counts runs that are given up after crashes", async (subject) => {
    const { store } = subject;
    await store.queueRuns([sampleRun()]);
    for (let at = 0; (await countBytes(subject)).length === 0; at += 1) {
      expect(at).toBeLessThan(50);
      await claim(store, { by: `worker ${at}`, now: START + at * (LEASE + 1) });
    }
  });

  it("counts runs that are replaced while they wait", async (subject) => {
    const { store } = subject;
    const limit = { lane: "lane", max: 1, whenFull: "replace" } as const;
    const [first, second, third, fourth] = sampleRuns(4, () => ({ limit }));
    await store.queueRuns([first]);
    await claimExactly(store, 1);
    await store.queueRuns([second]);
    await store.queueRuns([third]);
    expect(await countBytes(subject)).toHaveLength(1);
    await store.startInLane({ ...fourth, limit }, lease());
    expect(await countBytes(subject)).toHaveLength(2);

    const trigger = { flow_id: "a flow", node_id: "start" };
    const planOf = ({ id }: NewEvent): EventPlan => ({
      verdicts: [{ ...trigger, version: 1, matched: true, reasons: [] }],
      runs: [sampleRun({ limit, event_id: id })],
    });
    const append = (event: NewEvent, plan: EventPlan) =>
      store.appendEvents(
        [{ tenant: "acme", events: [event], plan: { revision: 0, events: [plan] } }],
        null,
      );
    const [event, deferred] = sampleEvents(2);
    await append(event, planOf(event));
    expect(await countBytes(subject)).toHaveLength(3);
    const nothing = { verdicts: [], runs: [] };
    await append(deferred, { ...nothing, deferred: { triggers: [trigger], until: START } });
    await store.finishMatching([
      { tenant: "acme", id: deferred.id, attempts: 0, revision: 0, plan: planOf(deferred) },
    ]);
    expect(await countBytes(subject)).toHaveLength(4);
  });

  it("does not count a run twice that ends again after a retry", async (subject) => {
    const { store } = subject;
    const [id = ""] = await endRuns(subject, 1);
    const [before = 0] = await countBytes(subject);
    await store.retryRun("acme", id, START);
    expect(await countBytes(subject)).toEqual([]);
    await save(store, await claimExactly(store, 1), { steps: [sampleStep({ attempt: 2 })] });
    await store.cancelRun("acme", id, START);
    await save(store, await claim(store, { by: "bob", now: START + 9 * LEASE }));
    const [after = 0] = await countBytes(subject);
    expect(after).toBeGreaterThan(before);
  });

  it("subtracts what was counted when runs are removed, and nothing for runs that were not counted", async (subject) => {
    const { store, sql } = subject;
    const [former] = await endRuns(subject, 3);
    const [size = 0] = await countBytes(subject);
    await sql(`UPDATE run_usage SET bytes = bytes - ${size} RETURNING bytes`);
    await sql(`UPDATE runs SET stored = NULL WHERE id = '${former}' RETURNING id`);
    // The run that was not counted may be the first that is removed, or not.
    await store.sweepRuns(START + 1, 2);
    const [{ total } = { total: 0 }] = await sql("SELECT sum(stored) AS total FROM runs");
    expect((await store.getTenant("acme"))?.runs_bytes).toBe(Number(total));
    while ((await store.sweepRuns(START + 1, 2)) > 0);
    expect(await countBytes(subject)).toEqual([]);
  });

  it("counts concurrent ends and removals of several tenants", async (subject) => {
    const { store } = subject;
    const tenants = ["acme", "globex", "umbrella"];
    const runs = sampleRuns(60, (at) => ({ tenant: tenants[at % 3] as string }));
    await store.queueRuns(runs);
    const claimed = await claimExactly(store, 60, { limit: 60 });
    const halves = [claimed, claimed.toReversed()].map((list) => list.filter((_, at) => at < 30));
    await Promise.all([
      ...halves.map((half) => save(store, half)),
      ...halves.map(() => store.sweepRuns(START + 1, 10)),
      ...tenants.map((tenant) => appendEvents(store, sampleEvents(3), tenant)),
      sweep(subject, { maxBytes: 1, limit: 5 }),
    ]);
    for (const tenant of tenants) await countBytes(subject, tenant);
  });

  it("has nothing left of a deleted tenant", async (subject) => {
    const { store, sql } = subject;
    await endRuns(subject, 2);
    await store.startDeletion("acme", START);
    while (!(await store.continueDeletion("acme", 3)));
    expect(await sql("SELECT tenant_id FROM run_usage")).toEqual([]);
  });

  it("is limited with the events: the oldest processed events and ended runs are removed first", async (subject) => {
    const { store, sql } = subject;
    const [pending, first, second, last] = sampleEvents(4, (at) => ({ received_at: START + at }));
    await appendEvents(store, [pending, first, second, last]);
    await store.markProcessed("acme", ids([first, second, last]), START, null);
    // Each id is between those of two events.
    const runs = [`${first.id}-1`, `${second.id}-1`].map((id) => sampleRun({ id }));
    await store.queueRuns([...runs, sampleRun({ id: "0-oldest", due_at: START + DAY })]);
    await save(store, await claimExactly(store, 2));
    const remaining = async () => [
      ...ids(await allEvents(store)),
      ...ids(await store.listRuns({ tenant: "acme", limit: 9 })).toSorted(),
    ];
    const [oldest, run, newer] = ["0-oldest", runs[0]?.id, runs[1]?.id] as [string, string, string];
    const total = async () => {
      const tenant = await store.getTenant("acme");
      return (tenant?.bytes ?? 0) + (tenant?.runs_bytes ?? 0);
    };
    expect(await sweep(subject, { maxBytes: await total() })).toMatchObject({ hasMore: false });
    // The first event does not suffice, so the first run is removed, too.
    const [row] = await sql(`SELECT stored FROM events WHERE id = '${first.id}'`);
    const maxBytes = (await total()) - Number(row?.stored) - 1;
    expect(await sweep(subject, { maxBytes })).toMatchObject({
      overflow: 1,
      runs: 1,
      hasMore: true,
    });
    expect(await remaining()).toEqual([...ids([pending, second, last]), oldest, newer]);
    expect(await store.getRun("acme", run)).toBeUndefined();
    expect(await sql(`SELECT 1 AS one FROM steps WHERE run_id = '${run}'`)).toEqual([]);
    await countBytes(subject);
    // The open run is not removed. The pending event is the last.
    expect(await sweep(subject, { maxBytes: 1, limit: 3 })).toMatchObject({ overflow: 2, runs: 1 });
    expect(await remaining()).toEqual([pending.id, oldest]);
    expect(await sweep(subject, { maxBytes: 1 })).toMatchObject({ overflow: 1, runs: 0 });
    expect(await sweep(subject, { maxBytes: 1 })).toMatchObject({ hasMore: false });
    expect(await remaining()).toEqual([oldest]);
    expect(await total()).toBe(0);
  });

  it("is limited in small steps, and with the limit of the tenant", async (subject) => {
    const { store } = subject;
    await endRuns(subject, 4);
    await store.queueRuns([sampleRun({ id: "00000000" })]);
    const steps = Array.from({ length: 50 }, (_, at) => sampleStep({ nth: at, item: String(at) }));
    await save(store, await claimExactly(store, 1), { steps, next: failed });
    const sizes = await countBytes(subject);
    const rest = sizes.slice(2).reduce((sum, size) => sum + size, 0);
    await store.putTenant({ id: "acme", max_bytes: rest, at: START });
    // The oldest run has many steps: the first calls remove only steps.
    for (const runs of [0, 0, 1, 1])
      expect(await sweep(subject, { limit: 1 })).toMatchObject({ runs, hasMore: true });
    expect(await countBytes(subject)).toEqual(sizes.slice(2));
    expect(await sweep(subject, { limit: 1 })).toMatchObject({ runs: 0, hasMore: false });
    expect(await store.sumBytes()).toEqual({ events: 0, runs: rest });
  });
}
