import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createAlarmTimers } from "./alarm-timers.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

async function setUp(alarm: number | null = null) {
  const alarms: number[] = [];
  const timers = await createAlarmTimers({
    getAlarm: async () => alarm,
    async setAlarm(time) {
      alarms.push(Number(time));
    },
  });
  return { timers, alarms };
}

it("runs short timers without an alarm, and long timers only in the alarm", async () => {
  const { timers } = await setUp();
  const ran: string[] = [];
  timers.after(1_000, () => ran.push("short"));
  timers.after(5_000, () => ran.push("long"));
  timers.after(9_000, () => ran.push("longest"));
  const cancel = timers.after(5_000, () => ran.push("cancelled"));
  cancel();
  await vi.advanceTimersByTimeAsync(6_000);
  expect([ran, vi.getTimerCount()]).toEqual([["short"], 0]);
  timers.onAlarm();
  expect(ran).toEqual(["short", "long"]);
});

it("sets the alarm to the nearest due time only", async () => {
  const { timers, alarms } = await setUp(1_050_000);
  timers.wakeAt(1_060_000);
  timers.wakeAt(1_030_000);
  timers.wakeAt(1_040_000);
  expect(alarms).toEqual([1_030_000]);
  timers.after(70_000, () => {});
  timers.after(80_000, () => {});
  vi.setSystemTime(1_030_000);
  timers.onAlarm();
  expect(alarms).toEqual([1_030_000, 1_070_000]);
});
