import { expect, onTestFinished, test } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { systemTimers } from "../../hosts/node/ports.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import { createTestTimers } from "../../kernel/lib/test-timers.ts";
import { StorageUnavailable } from "../../kernel/store/availability.ts";
import type { Notice } from "../../kernel/store/sql.ts";
import { storeDefinition } from "../../store.ts";
import { createWaiters, followRun } from "./follow-run.ts";
import type { Run, RunStatus, Step, StepPage, StepQuery } from "./model.ts";
import {
  claimExactly,
  sampleRun,
  sampleStep,
  save,
  succeeded,
} from "./store/contract/run-sample.ts";

const step = (nth: number, status: Step["status"], output: Step["output"] = null) =>
  ({ nth, status, output }) as Step;

/** Follows a run in a fake store: the test controls its content and its notices. */
function open(steps: Step[] = [step(1, "done"), step(2, "running")]) {
  const timers = createTestTimers();
  const state: { status: RunStatus | "deleted"; steps: Step[] } = { status: "running", steps };
  const reads: (StepQuery | undefined)[] = [];
  const listeners = new Set<(notice: Notice) => void>();
  const noticesUntil: number[] = [];
  const store = {
    enableStepNotices: async (_tenant: string, _run: string, until: number) =>
      void noticesUntil.push(until),
    previewRun: async () =>
      state.status === "deleted" ? undefined : ({ id: "r", status: state.status } as Run),
    async listSteps(_tenant: string, _run: string, query: StepQuery = {}): Promise<StepPage> {
      reads.push(query);
      const { after = 0, open = [], limit = 100 } = query;
      const following = state.steps.filter(({ nth }) => nth > after);
      const page = following.filter(({ nth }) => nth <= after + limit);
      const nextStep = following[page.length];
      return {
        items: [...state.steps.filter(({ nth }) => open.includes(nth)), ...page],
        next: nextStep ? nextStep.nth - 1 : null,
        unread: [],
      };
    },
    subscribe(listener: (notice: Notice) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const received: string[] = [];
  const finished = (async () => {
    for await (const { run, steps } of followRun({ store, timers }, "t", "r", controller.signal))
      received.push([run.status, ...steps.map(({ nth, status }) => `${nth} ${status}`)].join(", "));
  })();
  const notify = (notice: Notice) => {
    for (const listener of listeners) listener(notice);
  };
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    timers,
    noticesUntil,
    state,
    reads,
    listeners,
    received,
    finished,
    controller,
    notify,
    settle,
  };
}
const stepsRecorded: Notice = { topic: "run_steps", runs: ["another", "r"] };

test("yields all steps first, then only those that changed, and ends with the run", async () => {
  const { timers, state, reads, received, finished, notify, settle } = open();
  await settle();
  expect(received).toEqual(["running, 1 done, 2 running"]);
  timers.advance(50);
  await settle();
  state.steps = [step(1, "done"), step(2, "done"), step(3, "running"), step(4, "waiting")];
  notify(stepsRecorded);
  await settle();
  expect(received.slice(1)).toEqual(["running, 2 done, 3 running, 4 waiting"]);
  expect(reads.at(-1)).toMatchObject({ after: 2, open: [2] });
  state.steps = [...state.steps.slice(0, 2), step(3, "done"), step(4, "waiting", { until: 9 })];
  state.status = "succeeded";
  notify({ topic: "run_ended", tenant: "t", run: "r", status: "succeeded", took: 1 });
  await finished;
  expect(received.slice(2)).toEqual(["succeeded, 3 done, 4 waiting"]);
  expect(timers.pending()).toBe(0);
});

test.each(["running", "succeeded"] as const)(
  "yields the steps of a %s run in pages",
  async (status) => {
    const { timers, state, received, settle } = open(
      Array.from({ length: 250 }, (_, index) => step(index + 1, index === 3 ? "running" : "done")),
    );
    state.status = status;
    for (let page = 0; page < 5; page += 1) {
      await settle();
      timers.advance(0);
    }
    expect(received.map((text) => text.split(", ").length - 1)).toEqual([100, 100, 50]);
  },
);

test("yields the steps after gaps in their numbers, and then ends", async () => {
  const { timers, state, reads, received, settle } = open([
    step(1, "done"),
    step(152, "done"),
    step(400, "done"),
  ]);
  state.status = "succeeded";
  for (let page = 0; page < 5; page += 1) {
    await settle();
    timers.advance(0);
  }
  expect(received).toEqual(["succeeded, 1 done", "succeeded, 152 done", "succeeded, 400 done"]);
  expect(reads.length).toBe(3);
});

test("reads nothing after notices of other runs", async () => {
  const { timers, reads, notify, settle } = open();
  await settle();
  timers.advance(50);
  await settle();
  notify({ topic: "run_steps", runs: ["another"] });
  notify({ topic: "run_ended", tenant: "t", run: "another", status: "succeeded", took: 1 });
  timers.advance(10_000);
  await settle();
  expect(reads.length).toBe(1);
});

test("yields steps that are recorded within 50 ms as one change", async () => {
  const { timers, state, received, notify, settle } = open();
  await settle();
  for (const nth of [3, 4, 5]) {
    state.steps = [...state.steps, step(nth, "done")];
    notify(stepsRecorded);
    await settle();
  }
  expect(received.length).toBe(1);
  timers.advance(50);
  await settle();
  expect(received.slice(1)).toEqual(["running, 3 done, 4 done, 5 done"]);
});

test("enables notices of new steps, and enables them again before they expire", async () => {
  const { timers, noticesUntil, settle } = open();
  await settle();
  expect(noticesUntil).toEqual([60_000]);
  timers.advance(50);
  await settle();
  timers.advance(30_000);
  await settle();
  expect(noticesUntil).toEqual([60_000, 90_050]);
});

test("reads new steps after a gap in the notices, and after 30 s without a notice", async () => {
  const { timers, state, received, notify, settle } = open();
  await settle();
  timers.advance(50);
  await settle();
  state.steps = [step(1, "done"), step(2, "done")];
  notify({ topic: "gap" });
  await settle();
  expect(received.slice(1)).toEqual(["running, 2 done"]);
  state.steps.push(step(3, "done"));
  timers.advance(50);
  await settle();
  timers.advance(30_000);
  await settle();
  expect(received.slice(2)).toEqual(["running, 3 done"]);
});

test("ends when the run ends, even if the run is retried immediately", async () => {
  const { state, received, finished, notify, settle } = open();
  await settle();
  state.status = "queued";
  notify({ topic: "run_ended", tenant: "t", run: "r", status: "succeeded", took: 1 });
  await finished;
  expect(received).toEqual(["running, 1 done, 2 running", "queued"]);
});

test("ends when the run was deleted, and when its signal is aborted", async () => {
  const { state, finished, notify, listeners, settle } = open();
  await settle();
  state.status = "deleted";
  notify({ topic: "run_ended", tenant: "t", run: "r", status: "succeeded", took: 1 });
  await finished;
  expect(listeners.size).toBe(0);

  const other = open();
  await other.settle();
  other.controller.abort();
  await other.finished;
  expect(other.listeners.size).toBe(0);
  expect(other.timers.pending()).toBe(0);
});

/** Follows a run in a real store. */
async function followStoredRun() {
  const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  onTestFinished(() => store.close());
  await store.queueRuns([sampleRun()]);
  const [claimed] = await claimExactly(store, 1);
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const changes = followRun(
    { store, timers: systemTimers },
    "acme",
    claimed.run.id,
    controller.signal,
  );
  return { store, claimed, changes };
}

test("reads steps whose numbers have gaps in full pages", async () => {
  const { store, claimed, changes } = await followStoredRun();
  const steps = [1, 2, 250, 251, 900].map((nth) => sampleStep({ nth, node_id: `n${nth}` }));
  await save(store, [claimed], { steps, next: succeeded });
  const numbers: number[] = [];
  let reads = 0;
  for await (const change of changes) {
    numbers.push(...change.steps.map(({ nth }) => nth));
    reads += 1;
    if (reads > 20) break;
  }
  expect({ numbers, reads }).toEqual({ numbers: [1, 2, 250, 251, 900], reads: 1 });
});

test("limits a change to 100 steps and 64 KiB, even if all open steps end together", async () => {
  const { store, claimed, changes } = await followStoredRun();
  const createSteps = (overrides: Partial<Step>) =>
    Array.from({ length: 400 }, (_, index) =>
      sampleStep({ nth: index + 1, node_id: `n${index}`, ...overrides }),
    );
  await save(store, [claimed], { steps: createSteps({ status: "running", output: null }) });
  const sizes: number[] = [];
  const ended: number[] = [];
  let runningCount = 0;
  for await (const change of changes) {
    sizes.push(JSON.stringify(change.steps).length);
    expect(change.steps.length).toBeLessThanOrEqual(100);
    ended.push(...change.steps.filter(({ status }) => status === "done").map(({ nth }) => nth));
    runningCount += change.steps.filter(({ status }) => status === "running").length;
    if (runningCount === 400 && ended.length === 0 && change.steps.length > 0)
      await save(store, [claimed], {
        steps: createSteps({ output: "x".repeat(16_000) }),
        next: succeeded,
      });
  }
  expect(Math.max(...sizes)).toBeLessThan(70_000);
  expect(ended).toEqual(Array.from({ length: 400 }, (_, index) => index + 1));
});

const nextRound = () => new Promise((resolve) => setImmediate(resolve));
const endedRun = { id: "r", status: "succeeded" } as Run;

function openWaiters() {
  const timers = createTestTimers();
  const state = { isUnavailable: true, reads: 0, cancels: 0 };
  const assertAvailable = () => {
    if (state.isUnavailable) throw new StorageUnavailable("no connection");
  };
  const waiters = createWaiters({
    store: {
      async getRun() {
        state.reads += 1;
        assertAvailable();
        return endedRun;
      },
      async cancelRun() {
        state.cancels += 1;
        assertAvailable();
        return endedRun;
      },
    },
    timers,
    onError() {},
  });
  const wait = (signal?: AbortSignal) =>
    waiters.untilEnded("acme", "r", { justClaimed: true, stored: Promise.resolve(), signal });
  return { timers, state, waiters, wait };
}

test("retries to read and to cancel a run while the storage is unavailable", async () => {
  const { timers, state, waiters, wait } = openWaiters();
  const controller = new AbortController();
  const run = wait(controller.signal);
  waiters.check("r");
  controller.abort();
  for (let round = 0; round < 3; round += 1) {
    await nextRound();
    timers.advance(500);
  }
  await nextRound();
  expect(state).toMatchObject({ reads: 4, cancels: 4 });
  state.isUnavailable = false;
  timers.advance(500);
  expect(await run).toBe(endedRun);
  expect(state).toMatchObject({ reads: 5, cancels: 5 });
});

test("rejects the waiters and reads no run after close", async () => {
  const { timers, state, waiters, wait } = openWaiters();
  const run = wait();
  waiters.check("r");
  await nextRound();
  waiters.close("stopping");
  timers.advance(500);
  await expect(run).rejects.toThrow("stopping");
  await nextRound();
  expect([state.reads, timers.pending()]).toEqual([1, 0]);
});
