import { expect, vi } from "vitest";
import {
  appendEvents,
  ids,
  itemAt,
  START,
  sampleEvent,
  sampleEvents,
} from "../../../../events/store/contract/sample.ts";
import type { It } from "../../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../../store.ts";
import type { NewRun, WhenFull } from "../../model.ts";
import {
  claim,
  claimExactly,
  FAR,
  failed,
  LEASE,
  lease,
  runIds,
  sampleRun,
  sampleRuns,
  save,
} from "./run-sample.ts";

const inLane = (max: number, lane = "one", whenFull?: WhenFull): Partial<NewRun> => ({
  limit: { lane, max, whenFull },
});
/** The run gathers inputs in the lane until it is due. */
const gathering = (lane = "one", due_at = START + 100): Partial<NewRun> => ({
  gather: { lane },
  due_at,
});

const statuses = async (store: Store, runs: readonly NewRun[]) =>
  Promise.all(runs.map(async ({ id }) => (await store.getRun("acme", id))?.status));

/** Starts a run whose caller waits for its result. Returns the claimed run, or the other outcome. */
async function start(store: Store, run: NewRun, by = "eve", now = START) {
  const started = await store.startInLane(run, lease(by, now));
  return started.outcome === "started" ? started.claimed : started;
}

/** Claims and completes runs until none is due. Returns their ids in the order of the claims. */
async function drain(store: Store, now: number): Promise<string[]> {
  const order: string[] = [];
  for (;;) {
    const claimed = await claim(store, { now });
    if (claimed.length === 0) return order;
    order.push(...runIds(claimed));
    await save(store, claimed);
  }
}

export function runLanesContract(it: It): void {
  it("limit the number of running runs, and admit others when runs end", async ({ store }) => {
    const runs = sampleRuns(5, () => inLane(2));
    await store.queueRuns(runs);
    const [first, second] = await claimExactly(store, 2);
    expect(await statuses(store, runs)).toEqual(["running", "running", "held", "held", "held"]);
    expect(await claim(store, { by: "bob" })).toEqual([]);
    await save(store, [second]);
    expect(await statuses(store, runs)).toEqual(["running", "succeeded", "queued", "held", "held"]);
    expect(runIds(await claim(store, { by: "bob" }))).toEqual([itemAt(runs, 2).id]);
    await save(store, [first]);
    expect(await drain(store, START + LEASE - 1)).toEqual([itemAt(runs, 3).id, itemAt(runs, 4).id]);
  });

  it("admit runs in the order of their due times", async ({ store }) => {
    const runs = sampleRuns(6, (index) => ({ ...inLane(1), due_at: START + (5 - index) }));
    await store.queueRuns(runs);
    const order: string[] = [];
    const now = START + 5;
    for (const _ of runs) {
      const claimed = await claim(store, { now, limit: 2 });
      expect(claimed).toHaveLength(1);
      order.push(...runIds(claimed));
      await save(store, claimed, { now, next: failed });
    }
    expect(order).toEqual(ids(runs.toReversed()));
  });

  it("have separate limits for each name and tenant", async ({ store }) => {
    const runs = [
      sampleRun(inLane(1, "a")),
      sampleRun(inLane(1, "a")),
      sampleRun(inLane(1, "b")),
      sampleRun({ ...inLane(1, "a"), tenant: "umbrella" }),
      sampleRun(),
    ];
    await store.queueRuns(runs);
    const claimed = await claim(store);
    expect(runIds(claimed).sort()).toEqual(ids(runs.filter((_, index) => index !== 1)).sort());
  });

  it("do not block other runs that are due after held runs", async ({ store }) => {
    await store.queueRuns([...sampleRuns(30, () => inLane(1)), sampleRun({ due_at: START + 1 })]);
    const claimed = [
      ...(await claim(store, { now: START + 1 })),
      ...(await claim(store, { now: START + 1 })),
    ];
    expect(claimed).toHaveLength(2);
    expect(itemAt(claimed, 1).run.due_at).toBe(START + 1);
  });

  it("admit a run when another fails, is suspended, requeued or cancelled", async ({ store }) => {
    const runs = sampleRuns(8, () => inLane(1));
    await store.queueRuns(runs);
    const next = async () => itemAt(await claim(store), 0);
    const idAt = (index: number) => itemAt(runs, index).id;

    const failing = await next();
    await save(store, [failing], { next: failed });
    const suspended = await next();
    expect(suspended.run.id).toBe(idAt(1));
    await save(store, [suspended], { next: { status: "waiting", due_at: START + 10 } });
    const requeued = await next();
    expect(requeued.run.id).toBe(idAt(2));
    await save(store, [requeued], { next: { status: "queued", due_at: START + 20 } });
    const cancelled = await next();
    expect(cancelled.run.id).toBe(idAt(3));
    await store.cancelRun("acme", idAt(3), START);
    await save(store, [cancelled], { next: { status: "cancelled" } });
    // An admitted and a held run can be cancelled too.
    await store.cancelRun("acme", idAt(4), START);
    await store.cancelRun("acme", idAt(5), START);
    expect((await next()).run.id).toBe(idAt(6));
    await store.releaseRuns("ada", START);
    expect((await next()).run.id).toBe(idAt(6));
    expect(await claim(store, { now: START + LEASE - 1 })).toEqual([]);
    const order = await drain(store, START + LEASE);
    expect(order.sort()).toEqual([idAt(6), idAt(7), idAt(1), idAt(2)].sort());
  });

  it("hold a run that resumes after a suspension until they have capacity", async ({ store }) => {
    const [one, two] = sampleRuns(2, () => inLane(1));
    await store.queueRuns([one, two]);
    const [first] = await claimExactly(store, 1);
    await save(store, [first], { next: { status: "waiting", due_at: START + 5 } });
    const [second] = await claimExactly(store, 1);
    expect(second.run.id).toBe(two.id);
    expect(await claim(store, { now: START + 5 })).toEqual([]);
    expect(await statuses(store, [one, two])).toEqual(["held", "running"]);
    await save(store, [second]);
    expect(await drain(store, START + 5)).toEqual([one.id]);
  });

  it("count a run whose worker died, until it ends", async ({ store }) => {
    const runs = sampleRuns(3, () => inLane(1));
    await store.queueRuns(runs);
    await claim(store);
    const [reclaimed] = await claimExactly(store, 1, { by: "bob", now: START + LEASE });
    expect(reclaimed).toMatchObject({ run: { id: itemAt(runs, 0).id, claims: 2 } });
    await save(store, [reclaimed]);
    expect(await drain(store, START + LEASE)).toEqual(ids(runs.slice(1)));
  });

  it("hold a retried run while they are at their limit", async ({ store }) => {
    const [one, two] = sampleRuns(2, () => inLane(1));
    await store.queueRuns([one, two]);
    const [first] = await claimExactly(store, 1);
    await save(store, [first], { next: failed });
    await claim(store);
    await store.retryRun("acme", one.id, START);
    expect(await claim(store)).toEqual([]);
    expect(await statuses(store, [one, two])).toEqual(["held", "running"]);
  });

  it("start a run ahead of queued runs if its caller waits and they are below their limit", async ({
    store,
    notices,
  }) => {
    await store.queueRuns(sampleRuns(30, () => ({ due_at: START - 5 })));
    const [one, two, three, four] = sampleRuns(4, () => inLane(2));
    await vi.waitFor(async () => expect(await notices()).not.toEqual([]), 60_000);
    const before = (await notices()).length;
    const first = await start(store, one);
    expect(first).toMatchObject({
      run: {
        id: one.id,
        input: one.input,
        status: "running",
        worker: "eve",
        claims: 1,
        started_at: START,
      },
      steps: [],
    });
    expect(await store.getRun("acme", one.id)).toEqual("run" in first && first.run);
    expect(await start(store, two)).toMatchObject({ run: { id: two.id } });
    // No worker is notified of a run that has started.
    expect((await notices()).slice(before)).toEqual([]);
    expect(await start(store, three)).toEqual({ outcome: "queued", id: three.id });
    expect(await start(store, four)).toEqual({ outcome: "queued", id: four.id });
    expect(await statuses(store, [three, four])).toEqual(["held", "held"]);
    // An admitted run precedes other runs that were queued before it.
    if ("run" in first) await save(store, [first]);
    expect(runIds(await claim(store, { limit: 1 }))).toEqual([three.id]);
    expect(await statuses(store, [four])).toEqual(["held"]);
    // A run whose worker died still counts in its lane when it is claimed again.
    const now = START + LEASE;
    const later = await claim(store, { limit: 40, now });
    expect(later).toHaveLength(32);
    expect(await statuses(store, [two, three, four])).toEqual(["running", "running", "held"]);
    await save(store, later);
    expect(await drain(store, now)).toEqual([four.id]);
    // A run without a lane always starts.
    expect(await start(store, sampleRun())).toHaveProperty("run");
  });

  it("start no run ahead of due runs of the same lane", async ({ store }) => {
    const [one, two, three, four] = sampleRuns(4, () => inLane(1));
    const later = sampleRun({ ...inLane(1), due_at: START + 9 });
    // A run that is not due yet does not prevent a start.
    await store.queueRuns([later]);
    const first = await start(store, one);
    await store.queueRuns([two]);
    await claim(store);
    await start(store, three);
    expect(await statuses(store, [one, two, three])).toEqual(["running", "held", "held"]);
    if ("run" in first) await save(store, [first]);
    // The second run is due, so the fourth run does not overtake it.
    expect(await start(store, four)).toEqual({ outcome: "queued", id: four.id });
    expect(await drain(store, START)).toEqual(ids([two, three, four]));
  });

  it("observe their limit in concurrent calls, and admit every run", async ({ store, reopen }) => {
    const queued = sampleRuns(10, () => inLane(3));
    const starting = sampleRuns(20, () => inLane(3));
    const other = await reopen();
    const claimed = await Promise.all([
      ...queued.map(async (run, index) => {
        await store.queueRuns([run]);
        return claim(index % 2 ? store : other, { by: "bob" });
      }),
      ...starting.map(async (run, index) => {
        const started = await start(index % 2 ? store : other, run);
        return "run" in started ? [started] : [];
      }),
    ]);
    const all = await statuses(store, [...queued, ...starting]);
    expect(all.filter((status) => status === "running").length).toBe(claimed.flat().length);
    expect(claimed.flat().length).toBeLessThanOrEqual(3);
    await save(store, claimed.flat());
    const drained = await drain(store, START);
    expect([...drained, ...runIds(claimed.flat())].sort()).toEqual(
      ids([...queued, ...starting]).sort(),
    );
  });

  it("admit a run that is started while another run ends", async ({ store, reopen }) => {
    const other = await reopen();
    const lanes = Array.from({ length: 20 }, (_, index) => inLane(1, `lane ${index}`));
    const ending = await Promise.all(lanes.map((lane) => start(store, sampleRun(lane))));
    const starting = lanes.map((lane) => sampleRun(lane));
    const [started] = await Promise.all([
      Promise.all(starting.map((run) => start(other, run))),
      ...ending.map((ended) => ("run" in ended ? save(store, [ended]) : undefined)),
    ]);
    const running = started.flatMap((result) => ("run" in result ? [result.run.id] : []));
    expect([...running, ...(await drain(store, START))].sort()).toEqual(ids(starting).sort());
  });

  it("skip or replace a run whose caller waits, and return the run with the same key", async ({
    store,
  }) => {
    const skip = inLane(1, "one", "skip");
    const first = sampleRun({ ...skip, key: "k" });
    expect(await start(store, first)).toHaveProperty("run");
    expect(await start(store, sampleRun(skip))).toEqual({ outcome: "full" });
    const duplicate = sampleRun({ ...skip, key: "k" });
    expect(await start(store, duplicate)).toEqual({ outcome: "queued", id: first.id });

    const [event] = sampleEvents(1);
    await appendEvents(store, [event]);
    const [one, two, three] = sampleRuns(3, (index) => ({
      ...inLane(1, "two", "replace"),
      ...(index === 1 && { event_id: event.id }),
    }));
    const running = await start(store, one);
    await start(store, two);
    expect(await store.getEvent("acme", event.id)).toMatchObject({ trigger_status: "pending" });
    expect(await start(store, three)).toEqual({ outcome: "queued", id: three.id });
    expect(await store.getRun("acme", two.id)).toMatchObject({
      status: "cancelled",
      error: { code: "superseded", details: { run: three.id } },
    });
    expect(await store.getEvent("acme", event.id)).toMatchObject({ trigger_status: "failed" });
    if ("run" in running) await save(store, [running]);
    expect(await drain(store, START)).toEqual([three.id]);
  });

  it("with `skip` accept runs up to their limit, and hold none", async ({ store }) => {
    const skip = inLane(2, "one", "skip");
    const [one, two, three, four] = sampleRuns(4, () => skip);
    const five = sampleRun(skip);
    const otherLane = sampleRun(inLane(2, "two", "skip"));
    const theirs = sampleRun({ ...skip, tenant: "umbrella" });
    // A queued run counts like a running one.
    expect(await store.queueRuns([one, otherLane, theirs])).toEqual(ids([one, otherLane, theirs]));
    expect(await store.queueRuns([two, three])).toEqual([two.id, null]);
    const claimed = await claim(store);
    expect(claimed).toHaveLength(4);
    expect(await store.queueRuns([four])).toEqual([null]);
    expect(await store.getRun("acme", four.id)).toBeUndefined();
    const [first, second] = claimed.filter(({ run }) => run.id === one.id || run.id === two.id);
    if (!first || !second) throw new Error("not claimed");
    await save(store, [first]);
    // A suspended run does not count.
    await save(store, [second], { next: { status: "waiting", due_at: FAR } });
    expect(await store.queueRuns([four, five])).toEqual([four.id, five.id]);
    expect(runIds(await claim(store))).toEqual([four.id, five.id]);
  });

  it("with `skip` return the run with the same key, and gather inputs at their limit", async ({
    store,
  }) => {
    const skip = { ...inLane(1, "one", "skip"), gather: { lane: "g" } };
    const [first, second, third, fourth] = sampleRuns(4, (index) => ({
      ...skip,
      key: `key ${index}`,
    }));
    expect(await store.queueRuns([first, second])).toEqual([first.id, first.id]);
    await claim(store);
    expect(await store.queueRuns([first, third])).toEqual([first.id, null]);
    // The key of the skipped run was not stored.
    await store.cancelRun("acme", first.id, START);
    await store.releaseRuns("ada", START);
    await save(store, await claim(store));
    expect(await store.queueRuns([third, fourth])).toEqual([third.id, third.id]);
  });

  it("with `skip` add the reason to the verdict of the event", async ({ store }) => {
    const flow = { flow_id: "a flow", node_id: "start", version: 1 };
    const reasons = [{ on: "active" as const, holds: true, message: "the trigger is active" }];
    const append = async () => {
      const event = sampleEvent();
      const run = sampleRun({ ...inLane(1, "one", "skip"), event_id: event.id });
      const plan = { verdicts: [{ ...flow, matched: true, reasons }], runs: [run] };
      await store.appendEvents(
        [{ tenant: "acme", events: [event], plan: { revision: 0, events: [plan] } }],
        null,
      );
      return { event, run, verdicts: await store.listVerdicts("acme", event.id) };
    };
    const first = await append();
    expect(first.verdicts).toEqual([{ ...flow, matched: true, reasons, run_id: first.run.id }]);
    const second = await append();
    expect(second.verdicts).toMatchObject([
      { matched: true, run_id: null, reasons: [{}, { on: "concurrency", holds: false }] },
    ]);
    expect(second.verdicts[0]?.reasons[1]?.message).toBe(
      "skipped: its concurrency limit of 1 run was reached",
    );
    expect(await store.getEvent("acme", second.event.id)).toMatchObject({ trigger_status: null });
    const theirs = await store.listRuns({ tenant: "acme", limit: 9, event: second.event.id });
    expect(theirs).toEqual([]);
  });

  it("with `replace` hold only the newest run, and cancel the previous one with an error that names the newest", async ({
    store,
    notices,
  }) => {
    const [event] = sampleEvents(1);
    await appendEvents(store, [event]);
    const [first, second, third, fourth] = sampleRuns(4, (index) => ({
      ...inLane(1, "one", "replace"),
      ...(index === 1 && { event_id: event.id }),
    }));
    const fifth = sampleRun(inLane(1, "one", "replace"));
    await store.queueRuns([first]);
    // The first run is below the limit, so the second run does not replace it.
    await store.queueRuns([second]);
    expect(await statuses(store, [first, second])).toEqual(["queued", "queued"]);
    const [claimed] = await claimExactly(store, 1);
    expect(await statuses(store, [first, second])).toEqual(["running", "held"]);
    expect(await store.queueRuns([third])).toEqual([third.id]);
    expect(await store.getRun("acme", second.id)).toMatchObject({
      status: "cancelled",
      cancel_requested: false,
      finished_at: third.at,
      error: {
        code: "superseded",
        message: `A newer run replaced it while it waited for its concurrency limit: ${third.id}.`,
        details: { run: third.id },
      },
    });
    expect(await store.getEvent("acme", event.id)).toMatchObject({ trigger_status: "failed" });
    await vi.waitFor(
      async () =>
        expect(await notices()).toContainEqual({
          topic: "run_ended",
          tenant: "acme",
          run: second.id,
          status: "cancelled",
          took: null,
        }),
      60_000,
    );
    // The same holds if both runs are in one batch.
    expect(await store.queueRuns([fourth, fifth])).toEqual([fourth.id, fifth.id]);
    expect(await statuses(store, [first, third, fourth, fifth])).toEqual([
      "running",
      "cancelled",
      "cancelled",
      "queued",
    ]);
    await save(store, [claimed]);
    expect(await drain(store, START)).toEqual([fifth.id]);
    // A replaced run can be retried.
    await store.retryRun("acme", second.id, START);
    expect(await drain(store, START)).toEqual([second.id]);
  });

  it("with `replace` cancel no run that has started or is below the limit", async ({ store }) => {
    const replace = inLane(2, "one", "replace");
    const [first, second, third, fourth] = sampleRuns(4, () => replace);
    const [fifth, sixth] = sampleRuns(2, () => replace);
    await store.queueRuns([first]);
    const [running] = await claimExactly(store, 1);
    await save(store, [running], { next: { status: "waiting", due_at: START + 1 } });
    await store.queueRuns([second, third]);
    await claim(store, { limit: 2 });
    // The suspension of the first run has ended, and the run is held.
    expect(await claim(store, { now: START + 1 })).toEqual([]);
    expect(await statuses(store, [first, second, third])).toEqual(["held", "running", "running"]);
    await store.queueRuns([fourth]);
    await store.queueRuns([fifth, sixth]);
    expect(await statuses(store, [fourth, fifth, sixth])).toEqual([
      "cancelled",
      "cancelled",
      "queued",
    ]);
    await store.releaseRuns("ada", START);
    const order = await drain(store, START + 1);
    expect(order.sort()).toEqual(ids([first, second, third, sixth]).sort());
  });

  it("gather inputs into one run until it starts", async ({ store }) => {
    const events = sampleEvents(3);
    await appendEvents(store, events);
    const runs = sampleRuns(3, (index) => ({
      ...gathering(),
      input: { at: index },
      at: START + index,
      event_id: itemAt(events, index).id,
    }));
    const [target] = runs;
    expect(await store.queueRuns([itemAt(runs, 0)])).toEqual([target.id]);
    expect(await store.queueRuns(runs.slice(1))).toEqual([target.id, target.id]);
    const [claimed] = await claimExactly(store, 1, { now: START + 100 });
    expect(claimed.run).toMatchObject({
      id: target.id,
      input: { at: 0 },
      gathered_count: 2,
      gathered: [
        { at: START + 1, input: { at: 1 }, event_id: itemAt(events, 1).id },
        { at: START + 2, input: { at: 2 }, event_id: itemAt(events, 2).id },
      ],
    });
    // Each event is linked to the run that gathered it.
    for (const { id } of events) {
      expect(ids(await store.listRuns({ tenant: "acme", limit: 9, event: id }))).toEqual([
        target.id,
      ]);
      expect(await store.getEvent("acme", id)).toMatchObject({ trigger_status: "running" });
    }
    // A run that has started gathers no more inputs.
    const late = sampleRun(gathering());
    expect(await store.queueRuns([late])).toEqual([late.id]);
    await save(store, [claimed]);
    for (const { id } of events)
      expect(await store.getEvent("acme", id)).toMatchObject({ trigger_status: "succeeded" });
  });

  it("gather the inputs of one batch separately for each lane and tenant", async ({ store }) => {
    const [a, b, c, d] = sampleRuns(4, (index) => gathering(index === 2 ? "two" : "one"));
    const theirs = sampleRun({ ...gathering(), tenant: "umbrella" });
    expect(await store.queueRuns([a, b, c, d, theirs])).toEqual([
      a.id,
      a.id,
      c.id,
      a.id,
      theirs.id,
    ]);
    expect(await store.getRun("acme", a.id)).toMatchObject({ gathered_count: 2 });
  });

  it("gather inputs into held runs, but not suspended or cancelled ones", async ({ store }) => {
    const runs = sampleRuns(5, () => ({ ...inLane(1), gather: { lane: "g" } }));
    await store.queueRuns([itemAt(runs, 0)]);
    const [first] = await claimExactly(store, 1);
    await store.queueRuns([itemAt(runs, 1)]);
    await claim(store);
    expect(await statuses(store, runs.slice(0, 2))).toEqual(["running", "held"]);
    expect(await store.queueRuns([itemAt(runs, 2)])).toEqual([itemAt(runs, 1).id]);
    await store.cancelRun("acme", itemAt(runs, 1).id, START);
    await save(store, [first], { next: { status: "waiting", due_at: FAR } });
    expect(await store.queueRuns([itemAt(runs, 3)])).toEqual([itemAt(runs, 3).id]);
  });

  it("gather all inputs of concurrent calls", async ({ store }) => {
    const runs = sampleRuns(30, () => gathering());
    const targets = await Promise.all(runs.map((run) => store.queueRuns([run])));
    expect(new Set(targets.flat()).size).toBe(1);
    const target = itemAt(targets.flat(), 0) ?? "";
    expect(await store.getRun("acme", target)).toMatchObject({ gathered_count: 29 });
  });

  it("count gathered inputs above the size limit, but do not store them", async ({ store }) => {
    const text = "x".repeat(90_000);
    const runs = sampleRuns(4, () => ({ ...gathering(), input: { text } }));
    await store.queueRuns(runs);
    const run = await store.getRun("acme", itemAt(runs, 0).id);
    expect(run?.gathered).toHaveLength(2);
    expect(run?.gathered_count).toBe(3);
  });
}
