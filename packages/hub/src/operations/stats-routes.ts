/** Counts for a dashboard. Their cost does not grow with the number of stored events and runs. */

import {
  MAX_COUNTED_RUNS,
  type Series,
  type StatsWindow,
  statsApi,
} from "@signalbox/contract/stats.ts";
import { RUN_STATUSES } from "../flows/runs/model.ts";
import { isoOrNull } from "../kernel/http/paging.ts";
import { implement, type Route } from "../kernel/http/route.ts";
import { BoundedMap } from "../kernel/lib/bounded-map.ts";
import { idFloor } from "../kernel/lib/ids.ts";
import type { Store } from "../store.ts";
import { readSeries } from "./stats-series.ts";

const DAY_MS = 24 * 3_600_000;

/** Several tabs of a browser request the same series. */
const CACHE_MS = 5_000;
const MAX_CACHED_SERIES = 200;

export function statsRoutes(
  store: Pick<
    Store,
    | "getTenant"
    | "pendingStatus"
    | "countRuns"
    | "countReceived"
    | "countRunsByPeriod"
    | "listRunTimes"
  >,
  now: () => number,
  defaultQuota: number | null,
): Route[] {
  const cache = new BoundedMap<string, { until: number; series: Promise<Series> }>(
    MAX_CACHED_SERIES,
  );
  const seriesOf = (tenant: string, window: StatsWindow): Promise<Series> => {
    const key = `${window} ${tenant}`;
    const cached = cache.get(key);
    if (cached && cached.until > now()) return cached.series;
    const series = readSeries(store, tenant, window, now());
    cache.set(key, { until: now() + CACHE_MS, series });
    series.catch(() => cache.delete(key));
    return series;
  };
  return [
    implement(statsApi.get, async ({ tenant, query: { window } }) => {
      const [series, tenantRow, status, runs] = await Promise.all([
        window && seriesOf(tenant, window),
        store.getTenant(tenant),
        store.pendingStatus(tenant),
        store.countRuns(tenant, idFloor(now() - DAY_MS), MAX_COUNTED_RUNS + 1),
      ]);

      return {
        json: {
          events: {
            total: tenantRow?.seq ?? 0,
            pending: status.pending_count,
            pending_by_type: status.types,
            latest_pending_at: isoOrNull(status.latest_received_at),
            bytes: tenantRow?.bytes ?? 0,
            quota: tenantRow?.quota ?? defaultQuota,
          },
          runs: Object.fromEntries(
            RUN_STATUSES.map((status) => [status, Math.min(runs[status], MAX_COUNTED_RUNS)]),
          ),
          runs_more: RUN_STATUSES.filter((status) => runs[status] > MAX_COUNTED_RUNS),
          runs_bytes: tenantRow?.runs_bytes ?? 0,
          ...(series && { series }),
        },
      };
    }),
  ];
}
