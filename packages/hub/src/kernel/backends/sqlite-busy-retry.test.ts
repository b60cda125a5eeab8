import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createBusyRetry } from "./sqlite.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const BUSY = new Error("busy");

/** Simulates calls that use a file, which is locked until `unlock()`. */
function setUp() {
  let busy = true;
  const done: string[] = [];
  const attempts: string[] = [];
  let successes = 0;
  const retry = createBusyRetry({
    timeoutMs: 1_000,
    isBusy: (error) => error === BUSY,
    onSuccess() {
      successes += 1;
    },
  });
  return {
    successes: () => successes,
    done,
    attempts,
    retry,
    unlock: () => {
      busy = false;
    },
    run: (name: string) =>
      retry.run(() => {
        attempts.push(name);
        if (busy) throw BUSY;
        if (name === "bad") throw new Error("a bad row");
        done.push(name);
        return name;
      }),
  };
}

test("runs immediately if the file is not locked", async () => {
  const { run, unlock, done } = setUp();
  unlock();
  const running = run("a");
  expect(done).toEqual(["a"]);
  expect(await running).toBe("a");
});

test("queues later calls behind a waiting call, and retries only the first one", async () => {
  const { run, unlock, done, attempts, successes } = setUp();
  const all = Promise.allSettled([run("a"), run("bad"), run("c")]);
  await vi.advanceTimersByTimeAsync(400);
  expect(new Set(attempts)).toEqual(new Set(["a"]));
  unlock();
  const late = run("d");
  await vi.runAllTimersAsync();
  expect((await all).map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(await late).toBe("d");
  expect(done).toEqual(["a", "c", "d"]);
  expect(successes()).toBe(3);
});

test("rejects each call after its own timeout, with the busy error", async () => {
  const { run } = setUp();
  const failed: string[] = [];
  const start = (name: string) =>
    run(name).catch((error: unknown) => failed.push(`${name} ${error === BUSY}`));
  const one = start("a");
  await vi.advanceTimersByTimeAsync(500);
  const two = start("b");
  await vi.advanceTimersByTimeAsync(600);
  expect(failed).toEqual(["a true"]);
  await vi.advanceTimersByTimeAsync(500);
  expect(failed).toEqual(["a true", "b true"]);
  await Promise.all([one, two]);
  expect(vi.getTimerCount()).toBe(0);
});

test("rejects all waiting calls when the store is closed", async () => {
  const { run, retry } = setUp();
  const all = Promise.allSettled([run("a"), run("b")]);
  retry.rejectAll(new Error("closed"));
  expect(
    (await all).map((result) => result.status === "rejected" && result.reason.message),
  ).toEqual(["closed", "closed"]);
  expect(vi.getTimerCount()).toBe(0);
});
