import { expect, test } from "vitest";
import { createTestTimers } from "../../kernel/lib/test-timers.ts";
import { StorageUnavailable } from "../../kernel/store/storage-unavailable.ts";
import type { Run } from "./model.ts";
import { createWaiters } from "./waiters.ts";

const nextRound = () => new Promise((resolve) => setImmediate(resolve));
const endedRun = { id: "r", status: "succeeded" } as Run;

function open() {
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
  const { timers, state, waiters, wait } = open();
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
