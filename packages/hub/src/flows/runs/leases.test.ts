import type { GuardedFetch } from "@signalbox/rules/flows/outbound.ts";
import { expect, test } from "vitest";
import { createTestTimers } from "../../kernel/lib/test-timers.ts";
import { instant } from "../../kernel/lib/timers.ts";
import { StorageUnavailable } from "../../kernel/store/availability.ts";
import { createEffects, createLeases } from "./leases.ts";
import { ExecutionAborted } from "./step-records.ts";

function open() {
  const timers = createTestTimers(1_000_000);
  const state = { held: ["a", "b"], renewals: 0 };
  const leases = createLeases({
    store: {
      async renewRuns(_, runs) {
        state.renewals += 1;
        return { cancelRequested: [], renewed: runs.filter((run) => state.held.includes(run)) };
      },
    },
    timers,
    worker: "w",
    leaseMs: 1_000,
  });
  leases.begin("a", instant(timers));
  return { timers, state, leases };
}

test("does not renew a fresh lease", async () => {
  const { timers, state, leases } = open();
  timers.advance(700);
  expect(await leases.ensureFresh("a")).toBe(true);
  expect(state.renewals).toBe(0);
});

test("renews an old lease, and detects that another worker has claimed the run", async () => {
  const { timers, state, leases } = open();
  timers.advance(5_000); // the process was paused
  expect(leases.isFresh("a")).toBe(false);
  expect(await leases.ensureFresh("a")).toBe(true);
  expect([leases.isFresh("a"), state.renewals]).toEqual([true, 1]);
  timers.advance(5_000);
  state.held = [];
  expect(await leases.ensureFresh("a")).toBe(false);
});

test("does not renew the lease of a run that has ended here", async () => {
  const { state, leases } = open();
  leases.end("a");
  expect(await leases.ensureFresh("a")).toBe(false);
  expect(state.renewals).toBe(0);
});

test("counts the time while the machine slept, and ignores a clock that is set back", () => {
  const { timers, leases } = open();
  timers.stepClock(5_000); // only the wall clock advances while the machine sleeps
  expect(leases.isFresh("a")).toBe(false);
  leases.begin("a", instant(timers));
  timers.stepClock(-3_600_000);
  timers.advance(900);
  expect(leases.isFresh("a")).toBe(false);
});

test("counts the age of a lease from the request of the claim, not from its result", async () => {
  const { timers, leases } = open();
  const leaseStart = instant(timers);
  timers.advance(2_000);
  leases.begin("b", leaseStart);
  expect(leases.isFresh("b")).toBe(false);
  leases.end("b");
  await leases.renew(["a", "b"]);
  expect([leases.isFresh("a"), leases.isFresh("b")]).toEqual([true, false]);
});

function openEffects() {
  const timers = createTestTimers();
  const controller = new AbortController();
  const state = { isFresh: true, isHeld: true, isUnavailable: false, lost: 0, renewals: 0 };
  const effects = createEffects({
    lease: {
      isFresh: () => state.isFresh,
      async ensureFresh() {
        if (state.isUnavailable) throw new StorageUnavailable("unavailable");
        state.renewals += 1;
        state.isFresh = state.isHeld;
        return state.isHeld;
      },
    },
    timers,
    signal: controller.signal,
    onLost() {
      state.lost += 1;
    },
  });
  return { timers, state, effects, controller };
}

const request = { method: "POST", url: "https://x.example", headers: {}, maxResponseBytes: 1 };
const timedRequest = { ...request, timeoutMs: 1 };
const response = { status: 200, headers: new Headers(), body: new Uint8Array(), url: "" };

test("performs an effect with a fresh lease, and renews an old one first", async () => {
  const { state, effects } = openEffects();
  expect(await effects.perform(async () => "done")).toBe("done");
  expect(state.renewals).toBe(0);
  state.isFresh = false;
  expect(await effects.perform(async () => "done")).toBe("done");
  expect(state.renewals).toBe(1);
});

test("performs no effect of a run that another worker has claimed", async () => {
  const { state, effects } = openEffects();
  Object.assign(state, { isFresh: false, isHeld: false });
  let performed = false;
  const effect = async () => {
    performed = true;
  };
  await expect(effects.perform(effect)).rejects.toBeInstanceOf(ExecutionAborted);
  expect([performed, state.lost]).toEqual([false, 1]);
});

test("waits for the store before it performs an effect with an old lease", async () => {
  const { timers, state, effects } = openEffects();
  Object.assign(state, { isFresh: false, isUnavailable: true });
  const performed = effects.perform(async () => "done");
  await new Promise((resolve) => setImmediate(resolve));
  state.isUnavailable = false;
  timers.advance(500);
  expect(await performed).toBe("done");
});

test("repeats an effect that fails because the storage is unavailable, unless it was sent or the run ends", async () => {
  const { timers, effects, controller } = openEffects();
  let tries = 0;
  const perform = (shouldSend: boolean) =>
    effects.perform(async (beforeSend) => {
      tries += 1;
      if (shouldSend) beforeSend();
      if (tries === 1) throw new StorageUnavailable("unavailable");
      return "done";
    });
  const performed = perform(false);
  await new Promise((resolve) => setImmediate(resolve));
  timers.advance(500);
  expect(await performed).toBe("done");
  expect(tries).toBe(2);

  tries = 0;
  await expect(perform(true)).rejects.toBeInstanceOf(StorageUnavailable);
  expect(tries).toBe(1);

  tries = 0;
  const aborted = perform(false);
  await new Promise((resolve) => setImmediate(resolve));
  controller.abort();
  timers.advance(500);
  await expect(aborted).rejects.toBeInstanceOf(StorageUnavailable);
  expect(tries).toBe(1);
});

test("checks the lease again after connecting, and sends nothing if another worker holds the run", async () => {
  const { state, effects } = openEffects();
  let sent = 0;
  const fetch: GuardedFetch = async ({ beforeSend }) => {
    if (state.renewals === 0) state.isFresh = false; // the process was paused
    beforeSend?.();
    sent += 1;
    return response;
  };
  // Still held: the lease is renewed, and the request is sent once.
  expect(await effects.perform((beforeSend) => fetch({ ...timedRequest, beforeSend }))).toBe(
    response,
  );
  expect([sent, state.renewals]).toEqual([1, 1]);

  Object.assign(state, { isHeld: false, renewals: 0 });
  await expect(
    effects.perform((beforeSend) => fetch({ ...timedRequest, beforeSend })),
  ).rejects.toBeInstanceOf(ExecutionAborted);
  expect([sent, state.lost]).toEqual([1, 1]);
});
