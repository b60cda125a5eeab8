/** Reads the rates of events and runs over time. The cost does not grow with the number of events. */

import type { Series, StatsWindow } from "@signalbox/contract/stats.ts";
import type { RunCount } from "../flows/runs/model.ts";
import { iso } from "../kernel/http/paging.ts";
import { idFloor } from "../kernel/lib/ids.ts";
import type { Store } from "../store.ts";

/**
 * The ids of runs begin with the time. So the runs of one slot of time are those whose ids begin with the
 * same hexadecimal digits: with eight digits a slot is 65.5 seconds, with seven 17.5 minutes, with six
 * 4.7 hours.
 */
const WINDOWS = {
  "1h": { ms: 3_600_000, digits: 8 },
  "24h": { ms: 24 * 3_600_000, digits: 7 },
  "7d": { ms: 7 * 24 * 3_600_000, digits: 6 },
} satisfies Record<StatsWindow, { ms: number; digits: number }>;

/** The time in an id has 12 hexadecimal digits. */
const slotMs = (digits: number) => 16 ** (12 - digits);
/** One more than the web UI shows, so that it can show that there are more. */
const MAX_COUNTED = 10_001;
/** The maximum number of runs whose durations are read, the newest first. */
const MAX_TIMED = 1_000;

export async function readSeries(
  store: Pick<Store, "countReceived" | "countRunsByPeriod" | "listRunTimes">,
  tenant: string,
  window: StatsWindow,
  now: number,
): Promise<Series> {
  const { ms, digits } = WINDOWS[window];
  const slot = slotMs(digits);
  const first = Math.floor((now - ms) / slot);
  const last = Math.floor(now / slot);
  const times = Array.from({ length: last - first + 2 }, (_, index) => (first + index) * slot);
  const since = idFloor(first * slot);
  const [received, counts, timed] = await Promise.all([
    store.countReceived(tenant, times),
    store.countRunsByPeriod(tenant, since, digits, MAX_COUNTED),
    store.listRunTimes(tenant, since, MAX_TIMED),
  ]);
  const slotOf = (prefix: string) => Number.parseInt(prefix.slice(0, digits), 16);
  const countsBySlot = Map.groupBy(counts, ({ prefix }) => slotOf(prefix));
  const timedBySlot = Map.groupBy(timed, ({ id }) => slotOf(id));
  const durationOf = ({ started_at, finished_at }: (typeof timed)[number]) =>
    finished_at - started_at;
  return {
    window,
    slot_ms: slot,
    points: received.map((events, index) => {
      const runs = countsBySlot.get(first + index) ?? [];
      return {
        at: iso((first + index) * slot),
        events,
        runs: sum(runs),
        failed: sum(runs.filter(({ status }) => status === "failed")),
        p95_ms: percentile95((timedBySlot.get(first + index) ?? []).map(durationOf)),
      };
    }),
    p95_ms: percentile95(timed.map(durationOf)),
  };
}

const sum = (counts: readonly RunCount[]) => counts.reduce((total, { count }) => total + count, 0);

/** Returns the 95th percentile by the nearest-rank method; null if there are no values. */
export function percentile95(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? null;
}
