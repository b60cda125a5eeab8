import { expect } from "vitest";
import {
  appendEvents,
  ids,
  itemAt,
  START,
  sampleEvent,
  sampleEvents,
} from "../../../../events/store/contract/sample.ts";
import type { It } from "../../../../kernel/store/contract/subject.ts";
import {
  eventTrigger,
  intents,
  makeFlow,
  publish,
  triggersOf,
} from "../../../store/contract/flow-sample.ts";
import type { ClaimedRun, Run } from "../../model.ts";
import {
  allSteps,
  claim,
  claimExactly,
  failed,
  LEASE,
  lease,
  progress,
  runIds,
  sampleRun,
  sampleRuns,
  sampleStep,
  save,
  succeeded,
} from "./run-sample.ts";

export function runsContract(it: It): void {
  it("are listed with the tool or the event type of their published trigger", async ({ store }) => {
    const graph = intents("Go");
    const flow = await makeFlow(store, graph);
    await publish(store, flow, { triggers: [...triggersOf(graph), eventTrigger()] });
    const nodes = ["node Go", "on event", "removed"];
    await store.queueRuns(
      sampleRuns(3, (index) => ({ flow_id: flow.id, trigger_node: itemAt(nodes, index) })),
    );
    await store.queueRuns([
      sampleRun({ tenant: "umbrella", flow_id: flow.id, trigger_node: "node Go" }),
    ]);
    const names = async (tenant: string) =>
      (await store.listRunSummaries({ tenant, limit: 10 })).items.map((run) => run.trigger_name);
    expect(await names("acme")).toEqual([null, "issues", "go"]);
    expect(await names("umbrella")).toEqual([null]);
  });

  it("are listed without their values, with the name of their flow", async ({ store }) => {
    const flow = await makeFlow(store);
    const runs = sampleRuns(5, (index) => ({
      flow_id: index === 4 ? "gone" : flow.id,
      cause: index % 2 ? "event" : "api",
    }));
    await store.queueRuns(runs);
    await store.queueRuns([sampleRun({ tenant: "umbrella", flow_id: flow.id })]);
    const newest = runs.toReversed();
    const all = await store.listRunSummaries({ tenant: "acme", limit: 10 });
    expect(ids(all.items)).toEqual(ids(newest));
    expect(all.next).toBeNull();
    expect(all.items.map(({ flow_name }) => flow_name)).toEqual([
      null,
      ...Array.from({ length: 4 }, () => "A flow"),
    ]);
    expect(all.items[1]).toEqual({
      id: itemAt(runs, 3).id,
      tenant: "acme",
      app: "desk",
      flow_id: flow.id,
      flow_name: "A flow",
      trigger_name: null,
      version: 1,
      trigger_node: "start",
      cause: "event",
      event_id: null,
      parent_run: null,
      status: "queued",
      due_at: START,
      error: null,
      created_at: START,
      started_at: null,
      finished_at: null,
    });
    const page = await store.listRunSummaries({ tenant: "acme", limit: 2 });
    expect([ids(page.items), page.next]).toEqual([ids(newest.slice(0, 2)), itemAt(newest, 1).id]);
    const findIds = async (query: object) =>
      ids((await store.listRunSummaries({ tenant: "acme", limit: 10, ...query })).items);
    expect(await findIds({ before: page.next ?? "" })).toEqual(ids(newest.slice(2)));
    expect(await findIds({ cause: "event" })).toEqual(ids([itemAt(runs, 3), itemAt(runs, 1)]));
    expect(await findIds({ from: itemAt(runs, 3).id })).toEqual(ids(newest.slice(0, 2)));
    expect(await findIds({ flow: "gone", status: "queued" })).toEqual(ids([itemAt(runs, 4)]));
    expect(ids(await store.lastRuns("acme", [flow.id, "none"]))).toEqual([itemAt(runs, 3).id]);
    expect(await store.lastRuns("umbrella", [flow.id])).toEqual([]);
  });

  it("are filtered page by page, and each page scans a bounded number of runs", async ({
    store,
  }) => {
    const runs = sampleRuns(2_100, (index) => ({
      flow_id: "long",
      app: index === 0 ? "rare" : "desk",
    }));
    for (let index = 0; index < runs.length; index += 300)
      await store.queueRuns(runs.slice(index, index + 300));
    const query = { tenant: "acme", flow: "long", app: "rare", limit: 10 };
    const newest = await store.listRunSummaries(query);
    expect([newest.items, newest.next]).toEqual([[], itemAt(runs, 100).id]);
    const secondPage = await store.listRunSummaries({ ...query, before: itemAt(runs, 100).id });
    expect([ids(secondPage.items), secondPage.next]).toEqual([[itemAt(runs, 0).id], null]);
    expect((await store.listRunSummaries({ ...query, status: "failed" })).next).not.toBeNull();
    expect((await store.listRunSummaries({ ...query, app: undefined })).items).toHaveLength(10);
  });

  it("are counted by period and status, up to a maximum", async ({ store }) => {
    const id = (hour: number, number: number) =>
      `0198000${hour}-0000-7000-8000-00000000000${number}`;
    const runs = [id(1, 1), id(1, 2), id(2, 1), id(3, 1)].map((id) => sampleRun({ id }));
    await store.queueRuns(runs);
    await save(store, await claimExactly(store, 2, { limit: 2 }));
    const counts = await store.countRunsByPeriod("acme", id(1, 2), 8, 10);
    expect(counts.sort((a, b) => (a.prefix < b.prefix ? -1 : 1))).toEqual([
      { prefix: "01980001", status: "succeeded", count: 1 },
      { prefix: "01980002", status: "queued", count: 1 },
      { prefix: "01980003", status: "queued", count: 1 },
    ]);
    expect(await store.countRunsByPeriod("acme", id(2, 0), 8, 1)).toEqual([
      { prefix: "01980003", status: "queued", count: 1 },
    ]);
    expect(await store.countRunsByPeriod("umbrella", "", 8, 10)).toEqual([]);
    const times = await store.listRunTimes("acme", "", 10);
    expect(times.map((run) => run.id)).toEqual([id(1, 2), id(1, 1)]);
    expect(times[0]).toMatchObject({ started_at: START, finished_at: START });
    expect(await store.listRunTimes("acme", id(1, 2), 10)).toHaveLength(1);
  });

  it("are stored with all their fields", async ({ store, reopen }) => {
    const parent = sampleRun();
    const run = sampleRun({
      key: "once",
      cause: "flow",
      parent_run: parent.id,
      depth: 2,
      chain: ["a flow", "another"],
      input: { text: "Ünïcode \u0000 'quoted'", deep: [{ a: null }] },
      due_at: START + 5,
    });
    expect(await store.queueRuns([parent, run])).toEqual([parent.id, run.id]);
    const { at, key, ...fields } = run;
    const stored: Run = {
      ...fields,
      chain: ["a flow", "another"],
      key: "once",
      event_id: undefined,
      status: "queued",
      output: null,
      error: null,
      cancel_requested: false,
      worker: null,
      claims: 0,
      gathered: [],
      gathered_count: 0,
      created_at: at,
      started_at: null,
      finished_at: null,
    };
    const reopened = await reopen();
    expect(await reopened.getRun("acme", run.id)).toEqual(stored);
    expect(await reopened.findRun("acme", "once")).toEqual(stored);
    expect(await reopened.getRun("umbrella", run.id)).toBeUndefined();
    expect(await reopened.findRun("umbrella", "once")).toBeUndefined();
    expect(await reopened.findRun("acme", "never")).toBeUndefined();
    expect(await store.queueRuns([])).toEqual([]);
  });

  it("are stored once per tenant and key", async ({ store }) => {
    const [first, second, third] = sampleRuns(3, () => ({ key: "tick 7" }));
    const theirs = sampleRun({ key: "tick 7", tenant: "umbrella" });
    expect(await store.queueRuns([first, second, theirs])).toEqual([first.id, first.id, theirs.id]);
    const [claimed] = await claimExactly(store, 1, { limit: 1 });
    await save(store, [claimed]);
    expect(await store.queueRuns([third])).toEqual([first.id]);
    expect(await store.startRun(sampleRun({ key: "tick 7" }), lease())).toBeUndefined();
    expect(await store.listRuns({ tenant: "acme", limit: 9 })).toHaveLength(1);
    expect(await store.listRuns({ tenant: "umbrella", limit: 9 })).toHaveLength(1);
    expect(await store.queueRuns(sampleRuns(2))).toHaveLength(2);
  });

  it("are stored once per key in concurrent calls of queueRuns and startRun", async ({ store }) => {
    for (let round = 0; round < 5; round += 1) {
      const key = `round ${round}`;
      const queued = await Promise.all(
        sampleRuns(10, () => ({ key })).flatMap((run) => [
          store.queueRuns([run]),
          store.startRun({ ...run, id: `${run.id} started` }, lease()).then((started) => {
            return started ? [started.run.id] : [];
          }),
        ]),
      );
      expect(new Set(queued.flat()).size).toBe(1);
    }
    expect(await store.listRuns({ tenant: "acme", limit: 99 })).toHaveLength(5);
  });

  it("are stored once per key in batches of hundreds", async ({ store }) => {
    const runs = sampleRuns(250, (index) => ({ key: `key ${index}` }));
    expect(await store.queueRuns(runs)).toEqual(ids(runs));
    expect(await store.queueRuns(sampleRuns(250, (index) => ({ key: `key ${index}` })))).toEqual(
      ids(runs),
    );
  });

  it("are leased to the caller of startRun, and can be claimed after that lease has expired", async ({
    store,
  }) => {
    const graph = intents("Go");
    const flow = await publish(store, await makeFlow(store, graph));
    const run = sampleRun({ flow_id: flow.id, key: "call 1", due_at: START + 9_999 });
    const started = await store.startRun(run, lease("ada", START + 1));
    expect(started).toMatchObject({
      run: { id: run.id, status: "running", worker: "ada", claims: 1, started_at: START + 1 },
      graph,
      steps: [],
    });
    expect(await claim(store, { by: "bob" })).toEqual([]);
    const now = START + 1 + LEASE;
    expect(await claim(store, { by: "bob", now })).toMatchObject([
      { run: { id: run.id, worker: "bob", claims: 2, started_at: START + 1 } },
    ]);
  });

  it("are prepared without being stored, and stored with their first progress", async ({
    store,
  }) => {
    const graph = intents("Go");
    const flow = await publish(store, await makeFlow(store, graph));
    const run = sampleRun({ flow_id: flow.id, token_id: "ada" });
    const prepared = await store.prepareRun(run, lease("ada", START + 1));
    expect(await store.getRun("acme", run.id)).toBeUndefined();
    const start = { run, lease: lease("ada", START + 1) };
    const steps = [sampleStep()];
    expect(
      await store.saveProgress([
        { run: run.id, claim: 1, start, steps, now: START + 2 },
        { run: run.id, claim: 1, start, steps: [], now: START + 2 },
      ]),
    ).toEqual(["saved", "saved"]);
    expect(prepared).toEqual({
      run: await store.getRun("acme", run.id),
      graph,
      steps: [],
      bytes: 0,
    });
    expect(await allSteps(store, "acme", run.id)).toEqual(steps);
    // Another worker may have claimed the run meanwhile.
    expect(await claim(store, { by: "bob", now: START + 1 + LEASE })).toHaveLength(1);
    expect(
      await store.saveProgress([{ run: run.id, claim: 1, start, steps: [], now: START + 3 }]),
    ).toEqual(["lost"]);
    expect(await store.getRun("acme", run.id)).toMatchObject({ worker: "bob", claims: 2 });
  });

  it("are listed newest first, by flow, app, token, status and event", async ({ store }) => {
    const [event, other] = sampleEvents(2);
    await appendEvents(store, [event, other]);
    const runs = sampleRuns(6, (index) => ({
      flow_id: index % 2 ? "odd" : "even",
      app: index < 3 ? "desk" : "shop",
      ...(index === 1 || index === 4 ? { event_id: event.id } : {}),
      ...(index === 2 || index === 5 ? { token_id: "ada" } : {}),
    }));
    await store.queueRuns([...runs, sampleRun({ tenant: "umbrella", flow_id: "odd" })]);
    const list = async (query: object, limit = 9) =>
      (await store.listRuns({ tenant: "acme", limit, ...query })).map(({ id }) =>
        runs.findIndex((run) => run.id === id),
      );
    expect(await list({})).toEqual([5, 4, 3, 2, 1, 0]);
    expect(await list({}, 2)).toEqual([5, 4]);
    expect(await list({ before: itemAt(runs, 4).id }, 2)).toEqual([3, 2]);
    expect(await list({ flow: "odd" })).toEqual([5, 3, 1]);
    expect(await list({ flow: "odd", app: "desk" })).toEqual([1]);
    expect(await list({ app: "shop" })).toEqual([5, 4, 3]);
    expect(await list({ token: "ada" })).toEqual([5, 2]);
    expect(await list({ token: "ada", app: "shop" })).toEqual([5]);
    expect(await list({ token: "bob" })).toEqual([]);
    expect(await store.getRun("acme", itemAt(runs, 2).id)).toMatchObject({ token_id: "ada" });
    expect(await list({ event: event.id })).toEqual([4, 1]);
    expect(await list({ event: other.id })).toEqual([]);
    const claimed = (await claim(store, { limit: 3 })).map(({ run }) => run.id);
    const isRunning = (index: number) => claimed.includes(itemAt(runs, index).id);
    const running = [5, 4, 3, 2, 1, 0].filter(isRunning);
    expect(running).toHaveLength(2);
    expect(await list({ status: "running" })).toEqual(running);
    const queued = [4, 2, 0].filter((index) => !isRunning(index));
    expect(await list({ status: "queued", flow: "even" })).toEqual(queued);
    expect(await list({ status: "failed" })).toEqual([]);
    expect(await store.listRuns({ tenant: "umbrella", limit: 9, event: event.id })).toEqual([]);
  });

  it("are removed with their steps if they ended before the given time", async ({ store }) => {
    const event = sampleEvent();
    await appendEvents(store, [event]);
    const runs = sampleRuns(4, () => ({ event_id: event.id }));
    await store.queueRuns(runs);
    const [first, second, third] = await claimExactly(store, 3, { limit: 3 });
    for (const [index, claimed] of [first, second, third].entries())
      await save(store, [claimed], {
        steps: [sampleStep()],
        now: START + index,
        next: index === 1 ? failed : succeeded,
      });
    expect(await store.sweepRuns(START, 10)).toBe(0);
    expect(await store.sweepRuns(START + 9, 1)).toBe(1);
    expect(await store.getRun("acme", first.run.id)).toBeUndefined();
    expect(await allSteps(store, "acme", first.run.id)).toEqual([]);
    expect(await store.sweepRuns(START + 9, 10)).toBe(2);
    expect(await store.sweepRuns(START + 9, 10)).toBe(0);
    expect(ids(await store.listRuns({ tenant: "acme", limit: 9, event: event.id }))).toEqual([
      itemAt(runs, 3).id,
    ]);
    expect(await store.saveProgress([progress(first)])).toEqual(["lost"]);
    expect(await store.retryRun("acme", second.run.id, START)).toBeUndefined();
    expect(runIds(await claim(store))).toEqual([itemAt(runs, 3).id]);
  });

  it("are removed by several calls if they have many steps, and cannot be retried meanwhile", async ({
    store,
  }) => {
    await store.queueRuns(sampleRuns(2));
    const [large, small] = await claimExactly(store, 2, { limit: 2 });
    const steps = Array.from({ length: 50 }, (_, index) =>
      sampleStep({ nth: index + 1, item: String(index) }),
    );
    await save(store, [large], { steps, now: START, next: failed });
    await save(store, [small], { steps: [sampleStep()], now: START + 1, next: failed });
    const countSteps = async ({ run }: ClaimedRun) =>
      (await allSteps(store, "acme", run.id)).length;

    expect(await store.sweepRuns(START + 9, 1)).toBe(1);
    expect(await countSteps(large)).toBe(30);
    expect(await countSteps(small)).toBe(1);
    expect(await store.retryRun("acme", large.run.id, START)).toBeUndefined();
    expect(await store.getRun("acme", large.run.id)).toMatchObject({ status: "failed" });
    for (const remaining of [10, 0]) {
      expect(await store.sweepRuns(START + 9, 1)).toBe(1);
      expect(await countSteps(large)).toBe(remaining);
    }
    expect(await store.getRun("acme", large.run.id)).toBeUndefined();
    expect(await store.retryRun("acme", small.run.id, START)).toMatchObject({ status: "queued" });
    expect(await store.sweepRuns(START + 9, 1)).toBe(0);
  });
}
