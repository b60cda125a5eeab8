import { expect, it } from "vitest";
import { expiredSpans, type RetentionClock, readClock, startClock } from "./retention-clock.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = 1_000 * DAY;

const isExpired = (clock: RetentionClock, stamp: number, age: number) =>
  expiredSpans(clock, age).some(({ from, to }) => from <= stamp && stamp <= to);

it("follows corrections and short stops of the wall clock", () => {
  let clock = startClock(undefined, START);
  for (const wall of [START + HOUR, START - HOUR, START + 20 * HOUR]) {
    clock = readClock(clock, { wall });
    expect(clock).toMatchObject({ now: wall, steps: 0 });
    expect(clock).not.toHaveProperty("pending");
  }
  expect(clock.ranges).toEqual([{ from: START - HOUR, to: START + 20 * HOUR, offset: 0 }]);
});

it("does not count a stop of more than a day, unless the host allows longer gaps", () => {
  const clock = startClock(undefined, START);
  const wall = START + 20 * DAY;
  expect(readClock(clock, { wall })).toMatchObject({ now: START });
  expect(readClock(clock, { wall, maxGapMs: 30 * DAY })).toMatchObject({ now: wall });
});

it("forgets a step that is undone, and expires the stamps of that time by their real age", () => {
  let clock = startClock(START, START);
  const expected = (hours: number) => ({ now: START + hours * HOUR, steps: clock.steps });
  for (const hours of [1, 2, 3])
    clock = readClock(clock, { wall: START + 400 * DAY + hours * HOUR, expected: expected(hours) });
  clock = readClock(clock, { wall: START + 4 * HOUR, expected: expected(4) });
  expect(clock).toMatchObject({ now: START + 4 * HOUR, steps: 0 });
  clock = { ...clock, now: START + 5 * DAY };
  const stamp = START + 400 * DAY + 2 * HOUR;
  expect(isExpired(clock, stamp, 5 * DAY)).toBe(false);
  expect(isExpired(clock, stamp, 4 * DAY)).toBe(true);
});

it("takes the younger age of a stamp that two clocks have written, and keeps unknown stamps", () => {
  const clock = {
    ...startClock(START, START),
    ranges: [
      { from: 100 * DAY, to: START, offset: 0 },
      { from: 200 * DAY, to: 210 * DAY, offset: 790 * DAY },
    ],
  };
  expect(isExpired(clock, 150 * DAY, 90 * DAY)).toBe(true);
  expect(isExpired(clock, 205 * DAY, 90 * DAY)).toBe(false);
  expect(isExpired(clock, 250 * DAY, 90 * DAY)).toBe(true);
  expect(isExpired(clock, 950 * DAY, 90 * DAY)).toBe(false);
  expect(isExpired(clock, 50 * DAY, 90 * DAY)).toBe(false);
});

it("limits the number of ranges on a machine that starts in 1970 every time", () => {
  let clock = startClock(START, START);
  for (let boot = 1; boot < 100; boot += 1) {
    clock = readClock(clock, { wall: 60_000 });
    clock = readClock(clock, { wall: START + boot * 2 * DAY });
    // The wall clock is confirmed for a day.
    const now = clock.now + DAY;
    clock = readClock(clock, {
      wall: START + (boot * 2 + 1) * DAY,
      expected: { now, steps: clock.steps },
    });
  }
  expect(clock.ranges.length).toBeLessThanOrEqual(32);
  expect(isExpired(clock, 60_000, 90 * DAY)).toBe(false);
  expect(isExpired(clock, START, 90 * DAY)).toBe(true);
});
