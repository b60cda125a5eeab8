import { expect, it } from "vitest";
import { createTestTimers } from "../lib/test-timers.ts";
import { createBelievedTime } from "./believed-time.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = 1_000 * DAY;

function open(lastSeen?: number) {
  const timers = createTestTimers(START);
  const jumps: number[] = [];
  const now = createBelievedTime({ timers, lastSeen, onJump: (ahead) => jumps.push(ahead) });
  return { timers, jumps, now };
}

it("follows the wall clock", () => {
  const { timers, jumps, now } = open();
  timers.advance(40 * DAY);
  expect(now()).toBe(START + 40 * DAY);
  timers.stepClock(HOUR); // such as a correction by NTP
  expect(now()).toBe(START + 40 * DAY + HOUR);
  expect(jumps).toEqual([]);
});

it("ignores a jump of 100 days for an hour", () => {
  const { timers, jumps, now } = open();
  timers.advance(60_000);
  expect(now()).toBe(START + 60_000);
  timers.stepClock(100 * DAY);
  timers.advance(60_000);
  expect(now()).toBe(START + 120_000);
  timers.advance(HOUR - 1);
  expect(now()).toBe(START + 120_000 + HOUR - 1);
  expect(jumps).toEqual([100 * DAY]);
  timers.advance(1);
  expect(now()).toBe(timers.now());
});

it("follows the wall clock again when it is set back", () => {
  const { timers, jumps, now } = open();
  timers.stepClock(100 * DAY);
  now();
  timers.stepClock(-100 * DAY);
  expect(now()).toBe(START);
  timers.stepClock(-HOUR);
  expect(now()).toBe(START - HOUR);
  timers.stepClock(100 * DAY);
  expect(now()).toBe(START - HOUR);
  expect(jumps).toHaveLength(2);
});

it("ignores a wall clock that is 100 days after the last sweep of an earlier process", () => {
  const { jumps, now } = open(START - 100 * DAY);
  expect(now()).toBe(START - 100 * DAY);
  expect(jumps).toEqual([100 * DAY]);
});

it("accepts at start that no process has swept for up to 30 days", () => {
  for (const days of [0.5, 3, 30]) {
    const { timers, jumps, now } = open(START - days * DAY);
    expect(now()).toBe(START);
    expect(jumps).toEqual([]);
    timers.stepClock(2 * DAY);
    expect(now()).toBe(START);
    expect(jumps).toEqual([2 * DAY]);
  }
  expect(open(START + HOUR).now()).toBe(START);
});
