import { describe, expect, it } from "vitest";
import { MAX_MISSED, planFiring } from "./schedule.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const T = Date.UTC(2026, 10, 16, 9);

const hourly = { cron: "0 * * * *", timeZone: "UTC" };
const once = { ...hourly, misfire: "once" as const };
const skip = { ...hourly, misfire: "skip" as const };

describe.each([once, skip])("a schedule with misfire $misfire", (schedule) => {
  it("does nothing before its tick", () => {
    expect(planFiring(schedule, T, T - 1)).toBeUndefined();
  });

  it.each([0, 1, MINUTE - 1])("starts a run if it fires %d ms after its tick", (late) => {
    expect(planFiring(schedule, T, T + late)).toEqual({
      run: { tick: T, missed: 0 },
      nextAt: T + HOUR,
    });
  });

  it("starts one run for the latest tick if it is on time, and counts the missed ticks", () => {
    expect(planFiring(schedule, T, T + 3 * HOUR + 1000)).toEqual({
      run: { tick: T + 3 * HOUR, missed: 3 },
      nextAt: T + 4 * HOUR,
    });
  });
});

it("starts one run for three missed ticks, with the time of the latest tick", () => {
  const now = T + 2 * HOUR + MINUTE;
  expect(planFiring(once, T, now)).toEqual({
    run: { tick: T + 2 * HOUR, missed: 3 },
    nextAt: T + 3 * HOUR,
  });
});

it("skips three missed ticks", () => {
  const now = T + 2 * HOUR + MINUTE;
  expect(planFiring(skip, T, now)).toEqual({ run: undefined, nextAt: T + 3 * HOUR });
});

it("plans quickly after years of downtime, and counts up to a limit", () => {
  const now = T + 10 * 365 * 24 * HOUR + 30_000;
  const start = performance.now();
  expect(planFiring({ ...once, cron: "* * * * *" }, T, now)).toEqual({
    run: { tick: now - 30_000, missed: MAX_MISSED },
    nextAt: now + 30_000,
  });
  expect(performance.now() - start).toBeLessThan(20_000);
});
