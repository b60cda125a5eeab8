/** Computes the figures in the header of the inbox from the statistics of the hub. */
import type { Stats } from "@signalbox/contract";
import { countOrMore } from "../ui/format.ts";

/** The number of bars in a sparkline. */
const BARS = 20;
/** The rate is the average of this time. With a shorter time, it would fluctuate. */
const RATE_MS = 5 * 60_000;

/** The hub counts at most this many failed runs, and one more. */
const MAX_FAILED = 10_000;

export function figuresOf({
  runs,
  runs_more,
  series,
}: Pick<Stats, "runs" | "runs_more" | "series">): {
  eventsPerMinute: number;
  runsInDay: string;
  failedInHour: string;
  p95Ms: number | null;
  /** The values of the newest slots, for the sparklines. */
  bars: Record<"events" | "runs" | "failed" | "p95Ms", number[]>;
} {
  const points = series?.points ?? [];
  const newest = points.slice(-BARS);
  const slotMs = series?.slot_ms ?? 60_000;
  // The last slot is not over yet.
  const rated = points.slice(0, -1).slice(-Math.round(RATE_MS / slotMs));
  const received = rated.reduce((sum, { events }) => sum + events, 0);
  const failed = points.reduce((sum, point) => sum + point.failed, 0);
  return {
    eventsPerMinute: rated.length === 0 ? 0 : (received * 60_000) / (rated.length * slotMs),
    runsInDay: countOrMore(
      Object.values(runs).reduce((sum, count) => sum + count, 0),
      runs_more.length > 0,
    ),
    failedInHour: countOrMore(Math.min(failed, MAX_FAILED), failed > MAX_FAILED),
    p95Ms: series?.p95_ms ?? null,
    bars: {
      events: newest.map(({ events }) => events),
      runs: newest.map(({ runs }) => runs),
      failed: newest.map(({ failed }) => failed),
      p95Ms: newest.map(({ p95_ms }) => p95_ms ?? 0),
    },
  };
}

/** Formats a rate: `0`, `0.4`, `3.2`, `42`. */
export const formatRate = (perMinute: number): string =>
  perMinute < 10
    ? String(Math.round(perMinute * 10) / 10)
    : Math.round(perMinute).toLocaleString("en");
