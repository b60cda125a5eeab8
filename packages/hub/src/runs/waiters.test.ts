import { expect, test } from "vitest";
import { createTestTimers } from "../lib/test-timers.ts";
import type { Run } from "../store/run-store.ts";
import { StorageUnavailable } from "../store/storage-unavailable.ts";
import { createWaiters } from "./waiters.ts";

const nextRound = () => new Promise((resolve) => setImmediate(resolve));
const ended = { id: "r", status: "succeeded" } as Run;

function open() {
  const timers = createTestTimers();
  const state = { unavailable: true, reads: 0, cancels: 0 };
  const assertAvailable = () => {
    if (state.unavailable) throw new StorageUnavailable("no connection");
  };
  const waiters = createWaiters({
    store: {
      async getRun() {
        state.reads += 1;
        assertAvailable();
        return ended;
      },
      async cancelRun() {
        state.cancels += 1;
        assertAvailable();
        return ended;
      },
    },
    timers,
    onError() {},
  });
  const wait = (signal?: AbortSignal) =>
    waiters.untilEnded("acme", "r", { justClaimed: true, stored: Promise.resolve(), signal });
  return { timers, state, waiters, wait };
}

test("reads and cancels a run again when the storage was unavailable", async () => {
  const { timers, state, waiters, wait } = open();
  const cancelling = new AbortController();
  const run = wait(cancelling.signal);
  waiters.check("r");
  cancelling.abort();
  for (let round = 0; round < 3; round += 1) {
    await nextRound();
    timers.advance(500);
  }
  await nextRound();
  expect(state).toMatchObject({ reads: 4, cancels: 4 });
  state.unavailable = false;
  timers.advance(500);
  expect(await run).toBe(ended);
  expect(state).toMatchObject({ reads: 5, cancels: 5 });
});

test("reads no more after it was closed", async () => {
  const { timers, state, waiters, wait } = open();
  const run = wait();
  waiters.check("r");
  await nextRound();
  waiters.close("stopping");
  timers.advance(500);
  await expect(run).rejects.toThrow("stopping");
  await nextRound();
  expect([state.reads, timers.pending()]).toEqual([1, 0]);
});
