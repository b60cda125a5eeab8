import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createNaps, type Naps } from "./naps.ts";

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

const { signal } = new AbortController();

function open(parkAfterMs = 1_000) {
  const parked: (number | null)[] = [];
  const naps = createNaps({ now: Date.now, parkAfterMs, park: (due) => parked.push(due) });
  const ended: string[] = [];
  const nap = (name: string, due: number | null, by: AbortSignal = signal) =>
    naps.work(() => naps.until(due, by)).then(() => ended.push(name));
  return { naps, parked, ended, nap };
}

/** Something that is at work for so long. */
const work = (naps: Naps, ms: number) =>
  naps.work(() => new Promise((resolve) => setTimeout(resolve, ms)));

test("a short nap is a timer, and ends on time", async () => {
  const { parked, ended, nap } = open();
  void nap("short", 900);
  await vi.advanceTimersByTimeAsync(899);
  expect(ended).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(ended).toEqual(["short"]);
  expect(parked).toEqual([]);
});

test("a long one parks the run until the earliest is due", async () => {
  const { parked, nap } = open();
  void nap("later", 9_000);
  void nap("late", 5_000);
  void nap("whenever", null);
  await vi.advanceTimersByTimeAsync(1);
  expect(parked).toEqual([5_000]);
});

test("where nothing has a time, it is parked until somebody wakes it", async () => {
  const { parked, nap } = open();
  void nap("whenever", null);
  await vi.advanceTimersByTimeAsync(1);
  expect(parked).toEqual([null]);
});

test("while something is at work nothing is parked, and who is due is woken on time", async () => {
  const { naps, parked, ended, nap } = open();
  void work(naps, 60_000);
  void nap("late", 5_000);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(ended).toEqual(["late"]);
  void nap("later", 90_000);
  await vi.advanceTimersByTimeAsync(54_000);
  expect(parked).toEqual([]);
  await vi.advanceTimersByTimeAsync(1_001);
  expect(parked).toEqual([90_000]);
});

test("who hands over to another has not stopped working", async () => {
  const { naps, parked, nap } = open();
  void nap("late", 5_000);
  void work(naps, 10)
    .then(() => Promise.resolve())
    .then(() => work(naps, 10));
  await vi.advanceTimersByTimeAsync(19);
  expect(parked).toEqual([]);
  await vi.advanceTimersByTimeAsync(2);
  expect(parked).toEqual([5_000]);
});

test("who is away does not count as working, and does again when back", async () => {
  const { naps, parked, nap } = open();
  const gone = Promise.withResolvers<void>();
  void naps.work(async () => {
    await naps.away(() => gone.promise);
    await new Promise((resolve) => setTimeout(resolve, 50));
  });
  await vi.advanceTimersByTimeAsync(1);
  gone.resolve();
  await vi.advanceTimersByTimeAsync(1);
  void nap("late", 5_000);
  await vi.advanceTimersByTimeAsync(40);
  expect(parked).toEqual([]);
  await vi.advanceTimersByTimeAsync(20);
  expect(parked).toEqual([5_000]);
});

test("ends at once where it is aborted", async () => {
  const { ended, nap } = open();
  const leave = new AbortController();
  void nap("left", 900, leave.signal);
  leave.abort();
  await vi.advanceTimersByTimeAsync(0);
  expect(ended).toEqual(["left"]);
  void nap("too late", 900, leave.signal);
  await vi.advanceTimersByTimeAsync(0);
  expect(ended).toEqual(["left", "too late"]);
});

test("after the close nothing is parked and no timer is left", async () => {
  const { naps, parked, nap } = open();
  void nap("late", 5_000);
  naps.close();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(parked).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});
