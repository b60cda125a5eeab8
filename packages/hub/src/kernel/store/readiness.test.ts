import { expect, it } from "vitest";
import { systemTimers } from "../../hosts/node/ports.ts";
import { createReadiness } from "./availability.ts";

function setUp(options: { timeoutMs?: number } = {}) {
  const state = {
    now: 0,
    checks: 0,
    logged: 0,
    result: (): Promise<void> => Promise.resolve(),
  };
  const readiness = createReadiness({
    timers: { monotonic: () => state.now, after: systemTimers.after },
    check: () => {
      state.checks += 1;
      return state.result();
    },
    onError: () => {
      state.logged += 1;
    },
    ...options,
  });
  return { state, readiness };
}

it("checks the database at most once per second, whether the check succeeds or fails", async () => {
  const { state, readiness } = setUp();
  for (let call = 0; call < 10; call += 1) await readiness.check();
  expect(state.checks).toBe(1);
  state.now = 1_000;
  state.result = () => Promise.reject(new Error("disk full"));
  for (let call = 0; call < 10; call += 1)
    await expect(readiness.check()).rejects.toThrow("disk full");
  expect([state.checks, state.logged]).toEqual([2, 1]);
  state.now = 2_000;
  state.result = () => Promise.resolve();
  await readiness.check();
  expect(state.checks).toBe(3);
});

it("shares one slow check between concurrent callers", async () => {
  const { state, readiness } = setUp();
  let release = () => {};
  state.result = () =>
    new Promise((resolve) => {
      release = resolve;
    });
  const first = readiness.check();
  state.now = 4_000;
  const second = readiness.check();
  release();
  await Promise.all([first, second]);
  expect(state.checks).toBe(1);
});

it("is not ready after a failed batch, until a batch succeeds or five seconds have passed", async () => {
  const { state, readiness } = setUp();
  readiness.batchFailed(new Error("no space for this batch"));
  await expect(readiness.check()).rejects.toThrow("no space for this batch");
  expect(state.checks).toBe(0);
  readiness.batchStored();
  await readiness.check();
  readiness.batchFailed(new Error("no space for this batch"));
  state.now = 4_999;
  await expect(readiness.check()).rejects.toThrow("no space");
  state.now = 5_000;
  await readiness.check();
});

it("rejects if a check exceeds the time limit", async () => {
  const { state, readiness } = setUp({ timeoutMs: 10 });
  state.result = () => new Promise(() => {});
  await expect(readiness.check()).rejects.toThrow("did not respond within 0.01 s");
});
