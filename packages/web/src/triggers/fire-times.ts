/** Computes the next times of a schedule with the same code as the hub. */
import { cronProblem, isTimeZone, nextTick } from "@signalbox/rules/flows/cron.ts";

/** Empty if the expression or the time zone is not valid. */
export function nextFireTimes(cron: string, timeZone: string, now: number, count = 5): number[] {
  if (cronProblem(cron) !== undefined || !isTimeZone(timeZone)) return [];
  const times: number[] = [];
  let last: number | null = now;
  while (times.length < count) {
    last = nextTick({ cron, timeZone }, last);
    if (last === null) break;
    times.push(last);
  }
  return times;
}

/** Formats a time as `Mon 16 Nov 2026, 09:00 CET`. */
export const formatTime = (time: number, timeZone: string): string => {
  const part = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat("en-GB", { timeZone, ...options }).format(time);
  const date = part({ weekday: "short", day: "numeric", month: "short", year: "numeric" });
  const clock = part({ hour: "2-digit", minute: "2-digit", timeZoneName: "short" });
  return `${date.replace(",", "")}, ${clock}`;
};
