import { expect, it } from "vitest";
import { createReadiness } from "./readiness.ts";

function setUp(options: { timeoutMs?: number } = {}) {
  const state = {
    now: 0,
    checks: 0,
    logged: 0,
    answer: (): Promise<void> => Promise.resolve(),
  };
  const readiness = createReadiness({
    now: () => state.now,
    check: () => {
      state.checks += 1;
      return state.answer();
    },
    onError: () => {
      state.logged += 1;
    },
    ...options,
  });
  return { state, readiness };
}

it("asks the database once a second at the most, whether the answer is good or bad", async () => {
  const { state, readiness } = setUp();
  for (let at = 0; at < 10; at += 1) await readiness.check();
  expect(state.checks).toBe(1);
  state.now = 1_000;
  state.answer = () => Promise.reject(new Error("disk full"));
  for (let at = 0; at < 10; at += 1) await expect(readiness.check()).rejects.toThrow("disk full");
  expect([state.checks, state.logged]).toEqual([2, 1]);
  state.now = 2_000;
  state.answer = () => Promise.resolve();
  await readiness.check();
  expect(state.checks).toBe(3);
});

it("asks once for all who ask together, however long it takes", async () => {
  const { state, readiness } = setUp();
  let release = () => {};
  state.answer = () =>
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

it("is not ready after a batch failed, until one passes or five seconds are over", async () => {
  const { state, readiness } = setUp();
  readiness.failed(new Error("no space for this batch"));
  await expect(readiness.check()).rejects.toThrow("no space for this batch");
  expect(state.checks).toBe(0);
  readiness.worked();
  await readiness.check();
  readiness.failed(new Error("no space for this batch"));
  state.now = 4_999;
  await expect(readiness.check()).rejects.toThrow("no space");
  state.now = 5_000;
  await readiness.check();
});

it("does not wait for ever", async () => {
  const { state, readiness } = setUp({ timeoutMs: 10 });
  state.answer = () => new Promise(() => {});
  await expect(readiness.check()).rejects.toThrow("did not answer within 0.01 s");
});
