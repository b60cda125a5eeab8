import { expect } from "vitest";
import { itemAt, START } from "../../../../events/store/contract/sample.ts";
import type { It } from "../../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../../store.ts";
import type { ClaimedRun, NewRun, RunStatus, Step, StepPage, StepQuery } from "../../model.ts";
import {
  allSteps,
  claim,
  claimExactly,
  FAR,
  failed,
  LEASE,
  progress,
  runIds,
  sampleRun,
  sampleRuns,
  sampleStep,
  save,
  succeeded,
} from "./run-sample.ts";

async function claimOne(store: Store, now = START): Promise<ClaimedRun> {
  await store.queueRuns([sampleRun()]);
  return itemAt(await claim(store, { limit: 1, now }), 0);
}

const statusOf = async (store: Store, { run }: ClaimedRun): Promise<RunStatus | undefined> =>
  (await store.getRun("acme", run.id))?.status;

const dueLater = (run: NewRun): NewRun => ({ ...run, due_at: START + 1_000 });
const suspendedUntil = (due_at = FAR) => ({ next: { status: "waiting", due_at } }) as const;

export function runProgressContract(it: It): void {
  it("saves the latest state of each step, in the order of the starts", async ({
    store,
    reopen,
  }) => {
    const claimed = await claimOne(store);
    const running = sampleStep({ nth: 2, node_id: "b", status: "running", finished_at: null });
    await save(store, [claimed], { steps: [running, sampleStep({ node_id: "z" })] });
    const ended: Step = {
      ...running,
      status: "failed",
      port: null,
      output: null,
      error: { code: "http", message: "500", details: { body: "no" } },
      log: [{ level: "warn", text: 'a line with a \0 and a "quote"' }],
      finished_at: START + 3,
    };
    const iteration = sampleStep({ nth: 4, node_id: "b", item: "each:1", attempt: 2 });
    // A step keeps the number with which it was first saved.
    await save(store, [claimed], { steps: [running, { ...ended, nth: 3 }, iteration] });
    const steps = [sampleStep({ node_id: "z" }), ended, iteration];
    expect(await allSteps(await reopen(), "acme", claimed.run.id)).toEqual(steps);
    expect(await allSteps(store, "umbrella", claimed.run.id)).toEqual([]);
    const list = async (query: StepQuery, tenant = "acme") =>
      (await store.listSteps(tenant, claimed.run.id, query)).items;
    expect(await list({ after: 2 })).toEqual([iteration]);
    expect(await list({ after: 2, open: [2, 9] })).toEqual([ended, iteration]);
    expect(await list({ after: 2, open: [2, 9] }, "umbrella")).toEqual([]);
    expect(await statusOf(store, claimed)).toBe("running");
  });

  it("returns large values as previews, and each whole value on request", async ({ store }) => {
    const input = { text: "a".repeat(20_000) };
    await store.queueRuns([sampleRun({ input })]);
    const [claimed] = await claimExactly(store, 1);
    const { id } = claimed.run;
    const output = ["ü".repeat(20_000)];
    const bytes = 40_004;
    const small = "x".repeat(600);
    const steps = [
      sampleStep({ output }),
      sampleStep({ nth: 2, node_id: "b", input: small, output: small }),
    ];
    await save(store, [claimed], { steps, next: { status: "succeeded", output } });
    const preview = { $preview: `["${"ü".repeat(198)}`, bytes };
    const inputPreview = { $preview: expect.stringMatching(/^\{"text":"a+$/), bytes: 20_011 };
    const previews = { input: inputPreview, output: preview };
    expect(await store.getRun("acme", id)).toMatchObject({ input, output });
    expect(await store.previewRun("acme", id)).toMatchObject({ id, ...previews });
    expect(await store.previewRun("umbrella", id)).toBeUndefined();
    expect(await store.listRuns({ tenant: "acme", limit: 1 })).toMatchObject([previews]);
    const listed = [{ ...itemAt(steps, 0), output: preview }, itemAt(steps, 1)];
    expect(await allSteps(store, "acme", id)).toEqual(listed);
    const since = { after: 1, open: [1] };
    expect(await store.listSteps("acme", id, since)).toEqual({
      items: listed,
      next: null,
      unread: [],
    });

    const key = { tenant: "acme", run: id, field: "output" } as const;
    for (const valueKey of [key, { ...key, nth: 1 }]) {
      expect(await store.measureValue(valueKey)).toBe(bytes);
      expect(JSON.parse((await store.readValue(valueKey)) ?? "")).toEqual(output);
    }
    expect(await store.readValue({ ...key, nth: 2, field: "input" })).toBe(`"${small}"`);
    for (const unknownKey of [
      { ...key, tenant: "umbrella" },
      { ...key, tenant: "umbrella", nth: 1 },
      { ...key, nth: 3 },
      { ...key, run: "unknown" },
    ]) {
      expect(await store.measureValue(unknownKey)).toBeUndefined();
      expect(await store.readValue(unknownKey)).toBeUndefined();
    }
  });

  it("returns steps in pages that are limited in number and bytes", async ({ store }) => {
    const claimed = await claimOne(store);
    const { id } = claimed.run;
    const text = "x".repeat(10_000);
    const steps = Array.from({ length: 1_201 }, (_, index) =>
      sampleStep({ nth: index + 1, node_id: `n${index}`, output: index < 300 ? text : null }),
    );
    for (let index = 0; index < steps.length; index += 300)
      await save(store, [claimed], { steps: steps.slice(index, index + 300) });
    const pages: number[] = [];
    for (let after: number | null = 0; after !== null; ) {
      const page: StepPage = await store.listSteps("acme", id, { after });
      pages.push(page.items.length);
      expect(JSON.stringify(page.items).length).toBeLessThan(1_100_000);
      after = page.next;
    }
    // The first pages are limited by their bytes, the last by their number.
    expect(pages).toEqual([101, 101, 218, 500, 281]);
    expect(await allSteps(store, "acme", id)).toEqual(steps);
    expect(await store.countSteps("acme", id)).toBe(1_201);
    expect(await store.countSteps("umbrella", id)).toBe(0);
    const { items, next } = await store.listSteps("acme", id, {
      after: 7,
      limit: 5,
      bytes: 25_000,
    });
    expect(items).toEqual(steps.slice(7, 9));
    expect(next).toBe(9);
    // A page has at least one step, even if that exceeds the bytes.
    expect(await store.listSteps("acme", id, { after: 299, bytes: 1 })).toMatchObject({
      next: 300,
    });
    const exact = { after: 1_196, limit: 5 };
    expect(await store.listSteps("acme", id, exact)).toEqual({
      items: steps.slice(1_196),
      next: null,
      unread: [],
    });
    // The steps in `open` count towards the limits, and are listed first.
    expect(await store.listSteps("acme", id, { after: 7, open: [1, 2, 3, 5], limit: 3 })).toEqual({
      items: steps.slice(0, 3),
      next: 7,
      unread: [5],
    });
    expect(await store.listSteps("acme", id, { after: 7, open: [1, 3], bytes: 25_000 })).toEqual({
      items: [itemAt(steps, 0), itemAt(steps, 2)],
      next: 7,
      unread: [],
    });
    expect(
      await store.listSteps("acme", id, { after: 1_201, open: [1, 2], bytes: 12_000 }),
    ).toEqual({ items: [itemAt(steps, 0)], next: 1_201, unread: [2] });
  });

  it("fills the pages of steps whose numbers have gaps", async ({ store }) => {
    const claimed = await claimOne(store);
    const { id } = claimed.run;
    // Each write of a step takes a number: those of steps that were written twice are missing.
    const steps = Array.from({ length: 700 }, (_, index) =>
      sampleStep({ nth: index < 600 ? 2 * index + 1 : 10_000 + index, node_id: `n${index}` }),
    );
    await save(store, [claimed], { steps });
    const { items, next } = await store.listSteps("acme", id);
    expect(items).toEqual(steps.slice(0, 500));
    expect(next).toBeGreaterThanOrEqual(999);
    expect(await store.listSteps("acme", id, { after: next ?? 0 })).toEqual({
      items: steps.slice(500),
      next: null,
      unread: [],
    });
    const small = await store.listSteps("acme", id, { after: 1_190, open: [1, 3], limit: 10 });
    expect(small.items).toEqual([...steps.slice(0, 2), ...steps.slice(595, 603)]);
    expect(small.next).toBe(10_602);
  });

  it("ends a run, and rejects further progress of it", async ({ store }) => {
    await store.queueRuns(sampleRuns(3));
    const [succeeding, failing, cancelled] = await claimExactly(store, 3);
    const now = START + 5;
    expect(
      await store.saveProgress([
        progress(succeeding, { now, steps: [sampleStep()], next: succeeded }),
        progress(failing, { now, next: failed }),
        progress(cancelled, { now, next: { status: "cancelled" } }),
      ]),
    ).toEqual(["saved", "saved", "saved"]);
    const end = { worker: null, finished_at: now };
    expect(await store.getRun("acme", succeeding.run.id)).toEqual({
      ...succeeding.run,
      ...end,
      status: "succeeded",
      output: succeeded.output,
    });
    expect(await store.getRun("acme", failing.run.id)).toEqual({
      ...failing.run,
      ...end,
      status: "failed",
      error: failed.error,
    });
    expect(await store.getRun("acme", cancelled.run.id)).toMatchObject({
      ...end,
      status: "cancelled",
    });
    for (const ended of [succeeding, failing, cancelled])
      expect(await store.saveProgress([progress(ended, { next: failed })])).toEqual(["lost"]);
    expect(await claim(store, { now: START + 9 * LEASE })).toEqual([]);
    expect(await store.getRun("acme", succeeding.run.id)).toMatchObject({ status: "succeeded" });
  });

  it("rejects the progress of a run that another worker has claimed, and saves the others of the batch", async ({
    store,
  }) => {
    await store.queueRuns(sampleRuns(2));
    const [first, second] = await claimExactly(store, 2);
    await save(store, [second], suspendedUntil(START));
    const now = START + LEASE;
    const [reclaimedFirst, reclaimedSecond] = await claimExactly(store, 2, { by: "bob", now });
    const stale = { steps: [sampleStep({ output: "stale" })], next: failed };
    expect(
      await store.saveProgress([
        progress(first, stale),
        progress(reclaimedSecond, { steps: [sampleStep()], next: succeeded }),
        progress({ run: { ...reclaimedFirst.run, id: "unknown" } }, stale),
        progress(second, stale),
      ]),
    ).toEqual(["lost", "saved", "lost", "lost"]);
    expect(await allSteps(store, "acme", first.run.id)).toEqual([]);
    expect(await allSteps(store, "acme", reclaimedSecond.run.id)).toEqual([sampleStep()]);
    expect(await statusOf(store, first)).toBe("running");
  });

  it("rejects the progress of an earlier claim by the same worker", async ({ store }) => {
    const stalled = await claimOne(store);
    const [other] = await claimExactly(store, 1, { by: "bob", now: START + LEASE });
    await save(store, [other], suspendedUntil(START + LEASE));
    const [reclaimed] = await claimExactly(store, 1, { now: START + LEASE });
    expect([stalled.run.worker, reclaimed.run.worker]).toEqual(["ada", "ada"]);
    expect(await store.saveProgress([progress(stalled, { next: failed })])).toEqual(["lost"]);
    await save(store, [reclaimed]);
    expect(await store.saveProgress([progress(stalled, { next: failed })])).toEqual(["lost"]);
    expect(await statusOf(store, reclaimed)).toBe("succeeded");
  });

  it("saves progress after the lease has expired if no other worker has claimed the run", async ({
    store,
  }) => {
    const claimed = await claimOne(store);
    await save(store, [claimed], { now: START + 9 * LEASE, next: succeeded });
    expect(await claim(store, { now: START + 99 * LEASE })).toEqual([]);
  });

  it("saves several updates of one run in a batch, but none after its end", async ({ store }) => {
    const claimed = await claimOne(store);
    const running = sampleStep({ status: "running" });
    expect(
      await store.saveProgress([
        progress(claimed, { steps: [running] }),
        progress(claimed, { steps: [sampleStep()], next: succeeded }),
        progress(claimed, { steps: [sampleStep({ node_id: "after" })], next: failed }),
      ]),
    ).toEqual(["saved", "saved", "lost"]);
    expect(await allSteps(store, "acme", claimed.run.id)).toEqual([sampleStep()]);
    expect(await statusOf(store, claimed)).toBe("succeeded");
    expect(await store.saveProgress([])).toEqual([]);
  });

  it("saves the progress of hundreds of runs", async ({ store }) => {
    await store.queueRuns(sampleRuns(250));
    const claimed = await claim(store, { limit: 250 });
    await save(store, claimed, { steps: [sampleStep()], next: succeeded });
    expect(await store.listRuns({ tenant: "acme", limit: 999, status: "succeeded" })).toHaveLength(
      250,
    );
  });

  it("suspends a run until a time, or queues it again", async ({ store }) => {
    const claimed = await claimOne(store);
    await save(store, [claimed], { steps: [sampleStep()], ...suspendedUntil(START + 100) });
    expect(await store.getRun("acme", claimed.run.id)).toMatchObject({
      status: "waiting",
      due_at: START + 100,
      worker: null,
    });
    expect(await claim(store, { now: START + 99 })).toEqual([]);
    const [reclaimed] = await claimExactly(store, 1, { now: START + 100 });
    expect(reclaimed).toMatchObject({ run: { claims: 2 }, steps: [sampleStep({ input: null })] });
    await save(store, [reclaimed], { next: { status: "queued", due_at: START + 200 } });
    expect(await statusOf(store, reclaimed)).toBe("queued");
    expect(await claim(store, { now: START + 199 })).toEqual([]);
    expect(await claim(store, { now: START + 200 })).toHaveLength(1);
  });

  it("cancels the runs that a run has called when it ends, recursively", async ({ store }) => {
    const callers = sampleRuns(4);
    const children = callers.map(({ id }) => sampleRun({ cause: "flow", parent_run: id }));
    const grandchildren = children.map(({ id }) => sampleRun({ cause: "flow", parent_run: id }));
    const unrelated = sampleRun({ cause: "flow", parent_run: "another" });
    await store.queueRuns([...children, ...grandchildren, unrelated].map(dueLater));
    await store.queueRuns(callers);
    const [succeeding, failing, cancelled, suspended] = await claimExactly(store, 4);
    await save(store, [succeeding], { next: succeeded });
    await save(store, [failing], { next: failed });
    await save(store, [cancelled], { next: { status: "cancelled" } });
    await save(store, [suspended], suspendedUntil(START + 5));
    const statuses = async () =>
      Promise.all(
        [...children, ...grandchildren, unrelated].map(
          async ({ id }) => (await store.getRun("acme", id))?.status,
        ),
      );
    const ended = ["cancelled", "cancelled", "cancelled"];
    expect(await statuses()).toEqual([...ended, "queued", ...ended, "queued", "queued"]);
    // When the suspended caller is cancelled, its called runs are cancelled too.
    await store.cancelRun("acme", suspended.run.id, START + 6);
    expect(await statuses()).toEqual([...ended, "cancelled", ...ended, "cancelled", "queued"]);
  });

  it("cancels a called run that is suspended in the same batch", async ({ store }) => {
    const caller = sampleRun();
    await store.queueRuns([caller, sampleRun({ cause: "flow", parent_run: caller.id, depth: 1 })]);
    const [top, called] = await claimExactly(store, 2);
    const suspended = progress(called, {
      steps: [sampleStep({ status: "waiting" })],
      ...suspendedUntil(),
    });
    expect(await store.saveProgress([suspended, progress(top, { next: failed })])).toEqual([
      "saved",
      "saved",
    ]);
    expect(await statusOf(store, called)).toBe("cancelled");
    expect(await allSteps(store, "acme", called.run.id)).toMatchObject([{ status: "failed" }]);
  });

  it("cancels a run immediately if no worker has claimed it", async ({ store }) => {
    const [first, later] = sampleRuns(2, (index) => ({ due_at: START + index * 100 }));
    await store.queueRuns([first, later]);
    const [suspended] = await claimExactly(store, 1);
    await save(store, [suspended], suspendedUntil());
    const at = START + 7;
    const end = { status: "cancelled", cancel_requested: true, finished_at: at };
    expect(await store.cancelRun("umbrella", later.id, at)).toBeUndefined();
    expect(await store.cancelRun("acme", "unknown", at)).toBeUndefined();
    expect(await store.cancelRun("acme", later.id, at)).toMatchObject(end);
    expect(await store.cancelRun("acme", suspended.run.id, at)).toMatchObject(end);
    // An ended run does not change.
    expect(await store.cancelRun("acme", later.id, at + 1)).toBeUndefined();
    expect(await store.getRun("acme", later.id)).toMatchObject(end);
    expect(await claim(store, { now: START + 9_999 })).toEqual([]);
  });

  it("requests the cancellation of a running run from its worker", async ({ store }) => {
    await store.queueRuns(sampleRuns(4));
    const [cancelled, ended, suspended, abandoned] = await claimExactly(store, 4);
    for (const { run } of [cancelled, ended, suspended, abandoned])
      expect(await store.cancelRun("acme", run.id, START)).toMatchObject({
        status: "running",
        cancel_requested: true,
        finished_at: null,
      });
    await save(store, [cancelled], { next: { status: "cancelled" } });
    expect(await statusOf(store, cancelled)).toBe("cancelled");
    // The run had already ended when its worker received the request.
    await save(store, [ended]);
    expect(await statusOf(store, ended)).toBe("succeeded");
    // A suspended run has no worker, so it is cancelled immediately.
    await save(store, [suspended], suspendedUntil());
    expect(await statusOf(store, suspended)).toBe("cancelled");
    const [reclaimed] = await claim(store, { by: "bob", now: START + LEASE });
    expect(reclaimed).toMatchObject({ run: { id: abandoned.run.id, cancel_requested: true } });
    expect(await store.cancelRun("acme", ended.run.id, START)).toBeUndefined();
    expect(await statusOf(store, ended)).toBe("succeeded");
  });

  it("closes the open steps of a cancelled run", async ({ store }) => {
    await store.queueRuns(sampleRuns(2));
    const [waitingRun, suspendingRun] = await claimExactly(store, 2);
    const open = { status: "waiting", finished_at: null } as const;
    const steps = [
      sampleStep(),
      sampleStep({ nth: 2, node_id: "rest", output: { until: FAR }, ...open }),
      sampleStep({ nth: 3, node_id: "each", item: "each:0", ...open }),
      sampleStep({ nth: 4, node_id: "each", item: "each:1", ...open, status: "running" }),
    ];
    await save(store, [waitingRun], { steps, ...suspendedUntil() });
    const at = START + 7;
    await store.cancelRun("acme", waitingRun.run.id, at);
    // A run whose cancellation was requested is cancelled when its worker suspends it.
    await store.cancelRun("acme", suspendingRun.run.id, START);
    await save(store, [suspendingRun], { now: at, steps, ...suspendedUntil() });
    const error = { code: "cancelled", message: "The run was cancelled before this step ended." };
    for (const { run } of [waitingRun, suspendingRun]) {
      const [done, ...closed] = await allSteps(store, "acme", run.id);
      expect(done).toEqual(sampleStep());
      expect(closed).toMatchObject(
        ["rest", "each", "each"].map((node_id) => ({
          node_id,
          status: "failed",
          output: null,
          error: { ...error, node_id },
          finished_at: at,
        })),
      );
    }
  });

  it("retries a failed run without repeating its completed steps", async ({ store }) => {
    const claimed = await claimOne(store);
    const doneStep = sampleStep({ node_id: "a" });
    const failedStep = sampleStep({
      nth: 2,
      node_id: "b",
      status: "failed",
      error: failed.error,
    });
    const interruptedStep = sampleStep({ nth: 3, node_id: "c", status: "running" });
    const skippedStep = sampleStep({ nth: 4, node_id: "d", status: "skipped" });
    expect(await store.retryRun("acme", claimed.run.id, START)).toBeUndefined();
    await save(store, [claimed], {
      steps: [doneStep, failedStep, interruptedStep, skippedStep],
      next: failed,
    });
    expect(await store.retryRun("umbrella", claimed.run.id, START)).toBeUndefined();
    const at = START + 50;
    expect(await store.retryRun("acme", claimed.run.id, at)).toMatchObject({
      status: "queued",
      due_at: at,
      error: null,
      finished_at: null,
    });
    expect(await store.retryRun("acme", claimed.run.id, at)).toBeUndefined();
    const [reclaimed] = await claimExactly(store, 1, { now: at });
    expect(reclaimed).toMatchObject({ run: { id: claimed.run.id, claims: 2, started_at: START } });
    expect(reclaimed.steps).toEqual([
      { ...doneStep, input: null },
      { ...failedStep, status: "retried", input: null },
      { ...interruptedStep, status: "retried", input: null },
    ]);
    await save(store, [reclaimed]);
    expect(await store.retryRun("acme", claimed.run.id, at)).toBeUndefined();
  });

  it("retries a run that was cancelled before it started", async ({ store }) => {
    const run = sampleRun();
    await store.queueRuns([run]);
    await store.cancelRun("acme", run.id, START);
    expect(await store.retryRun("acme", run.id, START)).toMatchObject({
      status: "queued",
      cancel_requested: false,
    });
    expect(runIds(await claim(store))).toEqual([run.id]);
  });
}
