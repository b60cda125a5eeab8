/** Plans what a schedule does when it is due: which run it starts, and when it fires next. Pure. */
import { type CronTimes, countTicks, lastTick, MIN_GAP_MS, nextTick } from "./cron.ts";

/** `skip` starts no run for missed ticks; `once` starts one run for all of them. */
export const MISFIRE_POLICIES = ["skip", "once"] as const;
export type MisfirePolicy = (typeof MISFIRE_POLICIES)[number];

/** The input of a run that a schedule started. Times are in ISO 8601, in UTC. */
export type ScheduleInput = {
  /** The tick for which the run started. */
  scheduled_at: string;
  fired_at: string;
  time_zone: string;
  /** The number of missed ticks since the schedule last fired, up to MAX_MISSED. */
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

/** A tick that fires this late is missed. Ticks are at least this far apart, so only one can be on time. */
export const GRACE_MS = MIN_GAP_MS;

/** Missed ticks are counted up to this number. */
export const MAX_MISSED = 100;

/** `dueAt` is the first tick that has not fired yet. Returns undefined if it is later than `now`. */
export function planFiring(
  schedule: CronTimes & { misfire: MisfirePolicy },
  dueAt: number,
  now: number,
): Firing | undefined {
  if (dueAt > now) return undefined;
  const nextAt = nextTick(schedule, now);
  const tick = lastTick(schedule, dueAt, now);
  const isLate = now - tick >= GRACE_MS;
  if (isLate && schedule.misfire === "skip") return { run: undefined, nextAt };
  const ticks = countTicks(schedule, dueAt, now, MAX_MISSED + 1);
  return { run: { tick, missed: Math.min(isLate ? ticks : ticks - 1, MAX_MISSED) }, nextAt };
}
