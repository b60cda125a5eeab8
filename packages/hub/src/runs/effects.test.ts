import type { GuardedFetch } from "@signalbox/rules/flows/outbound.ts";
import { expect, test } from "vitest";
import { createTestTimers } from "../lib/test-timers.ts";
import { StorageUnavailable } from "../store/storage-unavailable.ts";
import { createEffects } from "./effects.ts";
import { ExecutionAborted } from "./step-records.ts";

function open() {
  const timers = createTestTimers();
  const aborting = new AbortController();
  const state = { fresh: true, held: true, unavailable: false, lost: 0, renewals: 0 };
  const effects = createEffects({
    lease: {
      isFresh: () => state.fresh,
      async holds() {
        if (state.unavailable) throw new StorageUnavailable("unavailable");
        state.renewals += 1;
        state.fresh = state.held;
        return state.held;
      },
    },
    timers,
    signal: aborting.signal,
    onLost() {
      state.lost += 1;
    },
  });
  return { timers, state, effects, aborting };
}

const request = { method: "POST", url: "https://x.example", headers: {}, maxResponseBytes: 1 };
const timed = { ...request, timeoutMs: 1 };
const response = { status: 200, headers: new Headers(), body: new Uint8Array(), url: "" };

test("performs an effect with a fresh lease, and renews an old one first", async () => {
  const { state, effects } = open();
  expect(await effects.perform(async () => "done")).toBe("done");
  expect(state.renewals).toBe(0);
  state.fresh = false;
  expect(await effects.perform(async () => "done")).toBe("done");
  expect(state.renewals).toBe(1);
});

test("performs no effect of a run that another worker has claimed", async () => {
  const { state, effects } = open();
  Object.assign(state, { fresh: false, held: false });
  let performed = false;
  const effect = async () => {
    performed = true;
  };
  await expect(effects.perform(effect)).rejects.toBeInstanceOf(ExecutionAborted);
  expect([performed, state.lost]).toEqual([false, 1]);
});

test("waits while the store is unavailable", async () => {
  const { timers, state, effects } = open();
  Object.assign(state, { fresh: false, unavailable: true });
  const performed = effects.perform(async () => "done");
  await new Promise((resolve) => setImmediate(resolve));
  state.unavailable = false;
  timers.advance(500);
  expect(await performed).toBe("done");
});

test("repeats an effect that the storage was unavailable for, unless it was sent", async () => {
  const { timers, effects, aborting } = open();
  let tries = 0;
  const perform = (sends: boolean) =>
    effects.perform(async (beforeSend) => {
      tries += 1;
      if (sends) beforeSend();
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
  aborting.abort();
  timers.advance(500);
  await expect(aborted).rejects.toBeInstanceOf(StorageUnavailable);
  expect(tries).toBe(1);
});

test("sends nothing if the process was suspended while it connected", async () => {
  const { state, effects } = open();
  let sent = 0;
  const fetch: GuardedFetch = async ({ beforeSend }) => {
    if (state.renewals === 0) state.fresh = false; // suspended
    beforeSend?.();
    sent += 1;
    return response;
  };
  // Still held: the lease is renewed, and the request is sent once.
  expect(await effects.guard(fetch)(timed)).toBe(response);
  expect([sent, state.renewals]).toEqual([1, 1]);

  Object.assign(state, { held: false, renewals: 0 });
  await expect(effects.guard(fetch)(timed)).rejects.toBeInstanceOf(ExecutionAborted);
  expect([sent, state.lost]).toEqual([1, 1]);
});
