import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Activity, createActivity, createWorkSlots } from "./activity.ts";
import { systemTimers } from "./contract/fixture.ts";

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

const { signal } = new AbortController();

function open(suspendAfterMs = 1_000) {
  const suspended: number[] = [];
  const timers = systemTimers();
  const slots = createWorkSlots(timers, () => {});
  const activity = createActivity({
    timers,
    slots,
    path: ["tenant", "app", "flow"],
    suspendAfterMs,
    suspend: (due) => suspended.push(due),
  });
  const ended: string[] = [];
  const wait = (name: string, due: number, waitSignal: AbortSignal = signal) =>
    activity.work(() => activity.waitUntil(due, waitSignal)).then(() => ended.push(name));
  return { activity, suspended, ended, wait, slots };
}

const work = (activity: Activity, ms: number) =>
  activity.work(() => new Promise((resolve) => setTimeout(resolve, ms)));

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
  const { activity, suspended, ended, wait } = open();
  void work(activity, 60_000);
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
  const { activity, suspended, wait } = open();
  void wait("late", 5_000);
  void work(activity, 10)
    .then(() => Promise.resolve())
    .then(() => work(activity, 10));
  await vi.advanceTimersByTimeAsync(19);
  expect(suspended).toEqual([]);
  await vi.advanceTimersByTimeAsync(2);
  expect(suspended).toEqual([5_000]);
});

test("counts a task as working again after it has waited for another promise", async () => {
  const { activity, suspended, wait } = open();
  const task = Promise.withResolvers<void>();
  void activity.work(async () => {
    await activity.waitFor(() => task.promise);
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
  const { activity, suspended, wait } = open();
  void wait("late", 5_000);
  activity.close();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(suspended).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

const free = (slots: ReturnType<typeof open>["slots"]) => slots.shares.free;

test("holds a slot only while a task works", async () => {
  const { activity, slots, wait } = open();
  const all = free(slots);
  const work = Promise.withResolvers<void>();
  const working = activity.work(() => work.promise);
  void wait("short", 500);
  await vi.advanceTimersByTimeAsync(10);
  expect(free(slots)).toBe(all - 1);
  work.resolve();
  await working;
  await vi.advanceTimersByTimeAsync(10);
  expect(free(slots)).toBe(all); // the other task waits for its timer
});

test("releases the slot while all calls of a task wait outside of the run, and is not suspended", async () => {
  const { activity, slots, suspended, wait } = open();
  const all = free(slots);
  const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const ended = activity.work(async () => {
    const outside = activity.openOutside();
    await Promise.all(answers.map(({ promise }) => outside.wait(() => promise)));
    return free(slots);
  });
  void wait("long", 90_000);
  await vi.advanceTimersByTimeAsync(10);
  expect(free(slots)).toBe(all);
  answers[0].resolve();
  await vi.advanceTimersByTimeAsync(5_000);
  expect([free(slots), suspended]).toEqual([all, []]);
  answers[1].resolve();
  expect(await ended).toBe(all - 1);
  await vi.advanceTimersByTimeAsync(1);
  expect(suspended).toEqual([90_000]);
});

test("continues a task that has given up its calls", async () => {
  const { activity, slots, suspended } = open();
  const all = free(slots);
  const gaveUp = Promise.withResolvers<void>();
  void activity.work(async () => {
    const outside = activity.openOutside();
    void outside.wait(() => new Promise(() => {}));
    await gaveUp.promise;
    await outside.close();
    expect(free(slots)).toBe(all - 1);
    await activity.waitUntil(60_000, signal);
  });
  await vi.advanceTimersByTimeAsync(1);
  expect(free(slots)).toBe(all);
  gaveUp.resolve();
  await vi.advanceTimersByTimeAsync(10);
  expect([free(slots), suspended]).toEqual([all, [60_000]]);
});

test("stops the clock of a task that waits for a slot, and continues when one is free", async () => {
  const { activity, slots } = open();
  const answer = Promise.withResolvers<void>();
  const events: string[] = [];
  void activity.work(async () => {
    const onQueued = () => {
      events.push("stopped");
      return () => events.push("started");
    };
    await activity.openOutside().wait(() => answer.promise, onQueued);
    events.push("continued");
  });
  await vi.advanceTimersByTimeAsync(1);
  const releases: (() => void)[] = [];
  for (let next = slots.tryAcquire(["a"]); next; next = slots.tryAcquire([`${releases.length}`]))
    releases.push(next);
  answer.resolve();
  await vi.advanceTimersByTimeAsync(1);
  expect(events).toEqual(["stopped"]);
  for (const release of releases) release();
  await vi.advanceTimersByTimeAsync(1);
  expect(events).toEqual(["stopped", "started", "continued"]);
});

test("gives the slot of a closed run to another run", async () => {
  const { activity, slots } = open();
  const all = free(slots);
  void activity.work(() => new Promise(() => {}));
  expect(free(slots)).toBe(all - 1);
  activity.close();
  expect(free(slots)).toBe(all);
  expect(slots.waiting).toBe(0);
});
