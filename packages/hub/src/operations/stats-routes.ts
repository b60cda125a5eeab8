/** Counts for a dashboard. Their cost does not grow with the number of stored events and runs. */
import { z } from "zod";
import { RUN_STATUSES } from "../flows/runs/model.ts";
import { isoOrNull } from "../kernel/http/paging.ts";
import { defineRoute, type Route } from "../kernel/http/route.ts";
import { BoundedMap } from "../kernel/lib/bounded-map.ts";
import { idFloor } from "../kernel/lib/ids.ts";
import type { Store } from "../store.ts";
import { readSeries, type Series, seriesView, WINDOWS, type Window } from "./stats-series.ts";

const DAY_MS = 24 * 3_600_000;
/** Higher counts are reported as this number. */
const MAX_COUNTED = 10_000;

const count = z.int().min(0);
export const statsView = z.object({
  events: z.object({
    total: count.describe("The number of events ever received."),
    pending: count,
    pending_by_type: z.record(z.string(), count),
    latest_pending_at: z.iso.datetime().nullable(),
    bytes: count.describe(
      "The bytes of the stored events in the database: rows, verdicts and compressed payloads.",
    ),
    quota: count
      .nullable()
      .describe("The quota that applies to the tenant; null if there is none."),
  }),
  // Not a record: its JSON Schema would require properties that it does not declare.
  runs: z
    .object(Object.fromEntries(RUN_STATUSES.map((status) => [status, count])))
    .describe(`The runs of the last day by status; at most ${MAX_COUNTED} of each are counted.`),
  runs_more: z
    .array(z.enum(RUN_STATUSES))
    .describe("The statuses with more runs than `runs` says."),
  runs_bytes: count.describe("The bytes of the ended runs in the database, with their steps."),
  series: seriesView.optional().describe("With ?window=: rates over time."),
});

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
  const seriesOf = (tenant: string, window: Window): Promise<Series> => {
    const key = `${window} ${tenant}`;
    const cached = cache.get(key);
    if (cached && cached.until > now()) return cached.series;
    const series = readSeries(store, tenant, window, now());
    cache.set(key, { until: now() + CACHE_MS, series });
    series.catch(() => cache.delete(key));
    return series;
  };
  return [
    defineRoute({
      method: "get",
      path: "/api/stats",
      summary: "Count the events, and the runs of the last day",
      tag: "stats",
      scope: "inbox:read",
      query: z.strictObject({
        window: z
          .enum(Object.keys(WINDOWS) as [Window, ...Window[]], "must be 1h, 24h or 7d")
          .optional()
          .describe("Adds rates over this time, as `series`."),
      }),
      response: { status: 200, schema: statsView },
      async handle({ tenant, query: { window } }) {
        const [series, tenantRow, status, runs] = await Promise.all([
          window && seriesOf(tenant, window),
          store.getTenant(tenant),
          store.pendingStatus(tenant),
          store.countRuns(tenant, idFloor(now() - DAY_MS), MAX_COUNTED + 1),
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
              RUN_STATUSES.map((status) => [status, Math.min(runs[status], MAX_COUNTED)]),
            ),
            runs_more: RUN_STATUSES.filter((status) => runs[status] > MAX_COUNTED),
            runs_bytes: tenantRow?.runs_bytes ?? 0,
            ...(series && { series }),
          },
        };
      },
    }),
  ];
}
