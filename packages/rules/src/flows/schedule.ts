/** What a schedule does when it is due: which run it starts, and when it fires next. Pure. */
import { type CronTimes, countTicks, lastTick, MIN_GAP_MS, nextTick } from "./cron.ts";

/** What happens to ticks that were missed: none of them runs, or one run stands for all of them. */
export const MISFIRE_POLICIES = ["skip", "once"] as const;
export type MisfirePolicy = (typeof MISFIRE_POLICIES)[number];

/** The input of a run that a schedule started. Times are in ISO 8601, in UTC. */
export type ScheduleInput = {
  /** The tick for which the run started. */
  scheduled_at: string;
  fired_at: string;
  time_zone: string;
  /** How many ticks were missed before, up to MAX_MISSED. */
  missed: number;
};

export const scheduleInput = (
  timeZone: string,
  { tick, missed }: { tick: number; missed: number },
  now: number,
): ScheduleInput => ({
  scheduled_at: new Date(tick).toISOString(),
  fired_at: new Date(now).toISOString(),
  time_zone: timeZone,
  missed,
});

export interface Firing {
  /** The tick for which a run starts; undefined if all ticks were missed and are skipped. */
  run: { tick: number; missed: number } | undefined;
  /** The next tick; null if there is none. */
  nextAt: number | null;
}

/** A tick is missed if it fires this late. At most one tick is younger, because of the minimum gap. */
export const GRACE_MS = MIN_GAP_MS;

/** Missed ticks are counted up to this number. */
export const MAX_MISSED = 100;

/** `dueAt` is the first tick that has not fired yet. Undefined if it is later than `now`. */
export function planFiring(
  times: CronTimes & { misfire: MisfirePolicy },
  dueAt: number,
  now: number,
): Firing | undefined {
  if (dueAt > now) return undefined;
  const nextAt = nextTick(times, now);
  const tick = lastTick(times, dueAt, now);
  const isLate = now - tick >= GRACE_MS;
  if (isLate && times.misfire === "skip") return { run: undefined, nextAt };
  const passed = countTicks(times, dueAt, now, MAX_MISSED + 1);
  return { run: { tick, missed: Math.min(isLate ? passed : passed - 1, MAX_MISSED) }, nextAt };
}
