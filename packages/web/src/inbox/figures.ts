/** The figures of the strip, from the counts of the last hour and day. */
import type { Stats } from "../api/types.ts";

/** The bars of a small chart. */
const BARS = 20;
/** The time of which the rate is the average; shorter times jump. */
const RATE_MS = 5 * 60_000;

export function figuresOf({ runs, series }: Pick<Stats, "runs" | "series">): {
  perMinute: number;
  events: number[];
  runsOfDay: number;
  runs: number[];
  failed: number;
  failures: number[];
  p95Ms: number | null;
  p95s: number[];
} {
  const points = series?.points ?? [];
  const newestBars = points.slice(-BARS);
  const slotMs = series?.slot_ms ?? 60_000;
  // The last slot is not over yet.
  const newest = points.slice(0, -1).slice(-Math.round(RATE_MS / slotMs));
  const received = newest.reduce((sum, { events }) => sum + events, 0);
  return {
    perMinute: newest.length === 0 ? 0 : (received * 60_000) / (newest.length * slotMs),
    events: newestBars.map(({ events }) => events),
    runsOfDay: Object.values(runs).reduce((sum, count) => sum + count, 0),
    runs: newestBars.map(({ runs }) => runs),
    failed: points.reduce((sum, { failed }) => sum + failed, 0),
    failures: newestBars.map(({ failed }) => failed),
    p95Ms: series?.p95_ms ?? null,
    p95s: newestBars.map(({ p95_ms }) => p95_ms ?? 0),
  };
}

/** `0`, `0.4`, `3.2`, `42` */
export const rateOf = (perMinute: number): string =>
  perMinute < 10
    ? String(Math.round(perMinute * 10) / 10)
    : Math.round(perMinute).toLocaleString("en");
