import type { GuardedFetch } from "@signalbox/rules/flows/outbound.ts";
import { expect, test } from "vitest";
import { createTestTimers } from "../../kernel/lib/test-timers.ts";
import { StorageUnavailable } from "../../kernel/store/storage-unavailable.ts";
import { createEffects } from "./effects.ts";
import { ExecutionAborted } from "./step-records.ts";

function open() {
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
  const { state, effects } = open();
  expect(await effects.perform(async () => "done")).toBe("done");
  expect(state.renewals).toBe(0);
  state.isFresh = false;
  expect(await effects.perform(async () => "done")).toBe("done");
  expect(state.renewals).toBe(1);
});

test("performs no effect of a run that another worker has claimed", async () => {
  const { state, effects } = open();
  Object.assign(state, { isFresh: false, isHeld: false });
  let performed = false;
  const effect = async () => {
    performed = true;
  };
  await expect(effects.perform(effect)).rejects.toBeInstanceOf(ExecutionAborted);
  expect([performed, state.lost]).toEqual([false, 1]);
});

test("waits for the store before it performs an effect with an old lease", async () => {
  const { timers, state, effects } = open();
  Object.assign(state, { isFresh: false, isUnavailable: true });
  const performed = effects.perform(async () => "done");
  await new Promise((resolve) => setImmediate(resolve));
  state.isUnavailable = false;
  timers.advance(500);
  expect(await performed).toBe("done");
});

test("repeats an effect that fails because the storage is unavailable, unless it was sent or the run ends", async () => {
  const { timers, effects, controller } = open();
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
  const { state, effects } = open();
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
