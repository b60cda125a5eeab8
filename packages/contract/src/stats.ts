/** Counts for a dashboard, and the size of the database. */
import { z } from "zod";
import { time } from "./paging.ts";
import { route } from "./route.ts";
import { RUN_STATUSES } from "./runs.ts";

export const STATS_WINDOWS = ["1h", "24h", "7d"] as const;
export type StatsWindow = (typeof STATS_WINDOWS)[number];

const count = z.int().min(0);

const duration = z
  .number()
  .nullable()
  .describe(
    "The 95th percentile of the durations of succeeded runs, in milliseconds; null if there are none.",
  );

export const seriesView = z.object({
  window: z.enum(STATS_WINDOWS),
  slot_ms: z.number().describe("The length of the slot of one point, in milliseconds."),
  points: z.array(
    z.object({
      at: time.describe("The start of the slot. The last slot is not over yet."),
      events: count.describe("Received events."),
      runs: count.describe("Created runs."),
      failed: count.describe("Created runs that have failed."),
      p95_ms: duration,
    }),
  ),
  p95_ms: duration,
});

export type Series = z.output<typeof seriesView>;

/** Higher counts are reported as this number. */
export const MAX_COUNTED_RUNS = 10_000;

export const statsView = z.object({
  events: z.object({
    total: count.describe("The number of events ever received."),
    pending: count,
    pending_by_type: z.record(z.string(), count),
    latest_pending_at: time.nullable(),
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
    .describe(
      `The runs of the last day by status; at most ${MAX_COUNTED_RUNS} of each are counted.`,
    ),
  runs_more: z
    .array(z.enum(RUN_STATUSES))
    .describe("The statuses with more runs than `runs` says."),
  runs_bytes: count.describe("The bytes of the ended runs in the database, with their steps."),
  series: seriesView.optional().describe("With ?window=: rates over time."),
});

export type Stats = z.output<typeof statsView>;

const size = z.int().min(0);

export const storageView = z.object({
  engine: z.enum(["sqlite", "postgres", "durable-object"]),
  bytes: size.describe(
    "What the database takes on disk: on SQLite its file and the WAL; on PostgreSQL its files without the WAL, which all databases of the server share.",
  ),
  used_bytes: size.describe(
    "The size of the data and its indexes; on PostgreSQL with the free space in its files.",
  ),
  events_bytes: size.describe("The part of `used_bytes` that events take, as an estimate."),
  runs_bytes: size.describe(
    "The part of `used_bytes` that ended runs and their steps take, as an estimate.",
  ),
  free_bytes: size
    .nullable()
    .describe("The size of the pages without data, which new data uses first. Null: not reported."),
  wal_bytes: size
    .nullable()
    .describe("The part of `bytes` that SQLite's WAL takes. Null: there is none."),
  can_shrink: z
    .boolean()
    .describe(
      "False if an earlier version created the SQLite file: then only the command `compact` shrinks it.",
    ),
});

export type DatabaseSize = z.output<typeof storageView>;

export const statsApi = {
  get: route({
    method: "get",
    path: "/api/stats",
    summary: "Count the events, and the runs of the last day",
    tag: "stats",
    scope: "inbox:read",
    query: z.strictObject({
      window: z
        .enum(STATS_WINDOWS, "must be 1h, 24h or 7d")
        .optional()
        .describe("Adds rates over this time, as `series`."),
    }),
    response: { status: 200, schema: statsView },
  }),
};

export const storageApi = {
  get: route({
    method: "get",
    path: "/api/storage",
    summary: "Get the size of the database; needs a token for all tenants",
    tag: "stats",
    scope: "admin",
    isShared: true,
    response: { status: 200, schema: storageView },
  }),
};
