import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemTimers } from "./contract/fixture.ts";
import { createSuspension, type Suspension } from "./suspension.ts";

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

const { signal } = new AbortController();

function open(suspendAfterMs = 1_000) {
  const suspended: number[] = [];
  const suspension = createSuspension({
    timers: systemTimers(),
    suspendAfterMs,
    suspend: (due) => suspended.push(due),
  });
  const ended: string[] = [];
  const wait = (name: string, due: number, waitSignal: AbortSignal = signal) =>
    suspension.work(() => suspension.waitUntil(due, waitSignal)).then(() => ended.push(name));
  return { suspension, suspended, ended, wait };
}

const work = (suspension: Suspension, ms: number) =>
  suspension.work(() => new Promise((resolve) => setTimeout(resolve, ms)));

test("uses a timer for a short wait", async () => {
  const { suspended, ended, wait } = open();
  void wait("short", 900);
  await vi.advanceTimersByTimeAsync(899);
  expect(ended).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(ended).toEqual(["short"]);
  expect(suspended).toEqual([]);
});

test("suspends the run if every wait is long, until the earliest wait is due", async () => {
  const { suspended, wait } = open();
  void wait("later", 9_000);
  void wait("late", 5_000);
  await vi.advanceTimersByTimeAsync(1);
  expect(suspended).toEqual([5_000]);
});

test("uses timers while a node is working, and suspends the run afterwards", async () => {
  const { suspension, suspended, ended, wait } = open();
  void work(suspension, 60_000);
  void wait("late", 5_000);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(ended).toEqual(["late"]);
  void wait("later", 90_000);
  await vi.advanceTimersByTimeAsync(54_000);
  expect(suspended).toEqual([]);
  await vi.advanceTimersByTimeAsync(1_001);
  expect(suspended).toEqual([90_000]);
});

test("does not suspend the run between the end of one node and the start of the next", async () => {
  const { suspension, suspended, wait } = open();
  void wait("late", 5_000);
  void work(suspension, 10)
    .then(() => Promise.resolve())
    .then(() => work(suspension, 10));
  await vi.advanceTimersByTimeAsync(19);
  expect(suspended).toEqual([]);
  await vi.advanceTimersByTimeAsync(2);
  expect(suspended).toEqual([5_000]);
});

test("counts a task as working again after it has waited for another promise", async () => {
  const { suspension, suspended, wait } = open();
  const task = Promise.withResolvers<void>();
  void suspension.work(async () => {
    await suspension.waitFor(() => task.promise);
    await new Promise((resolve) => setTimeout(resolve, 50));
  });
  await vi.advanceTimersByTimeAsync(1);
  task.resolve();
  await vi.advanceTimersByTimeAsync(1);
  void wait("late", 5_000);
  await vi.advanceTimersByTimeAsync(40);
  expect(suspended).toEqual([]);
  await vi.advanceTimersByTimeAsync(20);
  expect(suspended).toEqual([5_000]);
});

test("ends a wait when its signal is aborted", async () => {
  const { ended, wait } = open();
  const controller = new AbortController();
  void wait("aborted", 900, controller.signal);
  controller.abort();
  await vi.advanceTimersByTimeAsync(0);
  expect(ended).toEqual(["aborted"]);
  void wait("aborted before", 900, controller.signal);
  await vi.advanceTimersByTimeAsync(0);
  expect(ended).toEqual(["aborted", "aborted before"]);
});

test("does not suspend the run after close, and leaves no timer", async () => {
  const { suspension, suspended, wait } = open();
  void wait("late", 5_000);
  suspension.close();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(suspended).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});
