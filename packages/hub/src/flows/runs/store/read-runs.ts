/** Reads of runs, steps and verdicts, and the retention of runs. */

import { decodeReasons } from "@signalbox/rules/match/match-trigger.ts";
import {
  type Dialect,
  first,
  inLists,
  query,
  type Value,
  type Verb,
} from "../../../kernel/store/sql.ts";
import { type Page, read, write } from "../../../kernel/store/verb.ts";
import type { StoredVerdict } from "../../matching/model.ts";
import type { TriggerPage } from "../../model.ts";
import { partOf } from "../../store/triggers.ts";
import {
  RUN_STATUSES,
  type Run,
  type RunCount,
  type RunQuery,
  type RunStatus,
  type RunSummary,
  type StepPage,
  type StepQuery,
  type ValueKey,
} from "../model.ts";
import { type CountedRun, discountRuns } from "./end-runs.ts";
import {
  RUN_FIELDS,
  RUN_PREVIEW_FIELDS,
  type RunPreviewRow,
  type RunRow,
  STEP_PREVIEW_BYTES,
  STEP_PREVIEW_FIELDS,
  type StepPreviewRow,
  toRun,
  toRunPreview,
  toStepPreview,
} from "./run-rows.ts";

export const getRun = read("tenant", function* (tenant: string, id: string): Verb<Run | undefined> {
  const row = yield* first<RunRow>(
    `SELECT ${RUN_FIELDS} FROM runs WHERE id = ? AND tenant_id = ?`,
    [id, tenant],
  );
  return row && toRun(row);
});

/** Like `getRun`, with a `Preview` in place of a large input or output, and without `gathered`. */
export const previewRun = read("tenant", function* (tenant: string, id: string) {
  const row = yield* first<RunPreviewRow>(
    `SELECT ${RUN_PREVIEW_FIELDS} FROM runs WHERE id = ? AND tenant_id = ?`,
    [id, tenant],
  );
  return row && toRunPreview(row);
});

export const findRun = read("tenant", function* (tenant: string, key: string) {
  const row = yield* first<RunRow>(
    `SELECT ${RUN_FIELDS} FROM runs WHERE tenant_id = ? AND run_key = ?`,
    [tenant, key],
  );
  return row && toRun(row);
});

/** The filters of a list that have an index. */
const filtersOf = ({ token, flow, app, status }: RunQuery) =>
  (
    [
      ["r.token_id", token],
      ["r.flow_id", flow],
      ["r.app", app],
      ["r.status", status],
    ] as const
  ).flatMap(([column, value]) => (value === undefined ? [] : [{ column, value }]));

/** The other conditions of a list. */
function conditionsOf(wanted: RunQuery) {
  const conditions = ["r.tenant_id = ?"];
  const params: Value[] = [wanted.tenant];
  const and = (condition: string, value: Value | undefined) => {
    if (value === undefined) return;
    conditions.push(condition);
    params.push(value);
  };
  and("r.id < ?", wanted.before);
  and("r.id >= ?", wanted.from);
  and("r.id IN (SELECT run_id FROM run_events WHERE event_id = ?)", wanted.event);
  const select = (fields: string) =>
    `SELECT ${fields} FROM runs r WHERE ${conditions.join(" AND ")} ORDER BY r.id DESC LIMIT `;
  return { and, params, select };
}

/** Returns runs as `previewRun` does, the newest first. */
export const listRuns = read("tenant", function* (wanted: RunQuery): Verb<Run[]> {
  const { and, params, select } = conditionsOf(wanted);
  for (const { column, value } of filtersOf(wanted)) and(`${column} = ?`, value);
  const rows = yield* query<RunPreviewRow>(`${select(RUN_PREVIEW_FIELDS)}?`, [
    ...params,
    wanted.limit,
  ]);
  return rows.map(toRunPreview);
});

const SUMMARY_FIELDS =
  "r.id, r.tenant_id, r.app, r.flow_id, r.version, r.trigger_node, r.cause, r.event_id, r.parent_run, r.status, r.due_at, " +
  "r.error, r.created_at, r.started_at, r.finished_at, " +
  "(SELECT CASE WHEN f.deleted = 0 AND f.tenant_id = r.tenant_id THEN f.name END FROM flows f WHERE f.id = r.flow_id) AS flow_name, " +
  "(SELECT coalesce(t.tool_name, t.type) FROM triggers t " +
  "WHERE t.flow_id = r.flow_id AND t.node_id = r.trigger_node AND t.tenant_id = r.tenant_id) AS trigger_name";

type SummaryRow = Omit<RunSummary, "tenant" | "error"> & { tenant_id: string; error: string };

const toSummary = ({ tenant_id, error, ...row }: SummaryRow): RunSummary => ({
  ...row,
  tenant: tenant_id,
  error: JSON.parse(error),
});

/** The number of runs that a page with several filters scans. */
const SCAN_LIMIT = 2_000;

/**
 * The newest run comes first. A page with several filters, or with `cause`, reads a bounded part of the
 * runs, and may have fewer items than `limit`.
 *
 * The first filter selects a bounded part of the runs by its index. The others only test these runs.
 */
export const listRunSummaries = read("tenant", function* (wanted: RunQuery): Verb<
  Page<RunSummary, string>
> {
  const { and, params, select } = conditionsOf(wanted);
  const { event, cause, limit } = wanted;
  const filters = filtersOf(wanted);
  // An event has few runs, so no index of another filter is needed.
  const indexed = event === undefined ? filters.shift() : undefined;
  if (indexed) and(`${indexed.column} = ?`, indexed.value);
  let end: string | undefined;
  if (filters.length > 0 || cause !== undefined) {
    const last = `${select("r.id")} 1 OFFSET ${SCAN_LIMIT - 1}`;
    end = (yield* first<{ id: string }>(last, params))?.id;
    and("r.id >= ?", end);
    // `coalesce` prevents the use of the index of this column, which would be read beyond the bounded part.
    for (const { column, value } of filters) and(`coalesce(${column}, '') = ?`, value);
    and("r.cause = ?", cause);
  }
  const rows = yield* query<SummaryRow>(`${select(SUMMARY_FIELDS)}?`, [...params, limit + 1]);
  const items = rows.slice(0, limit).map(toSummary);
  return { items, next: (rows.length > limit ? items.at(-1)?.id : end) ?? null };
});

/** Returns the newest run of each flow that has runs. */
export const lastRuns = read("tenant", function* (tenant: string, flows: readonly string[]) {
  const runs: string[] = [];
  for (const { list, params } of inLists(flows, this.dialect, 2))
    for (const { run } of yield* query<{ run: string | null }>(
      "SELECT (SELECT r.id FROM runs r WHERE r.tenant_id = ? AND r.flow_id = f.id ORDER BY r.id DESC LIMIT 1) AS run " +
        `FROM flows f WHERE f.id IN ${list} AND f.tenant_id = ?`,
      [tenant, ...params, tenant],
    ))
      if (run !== null) runs.push(run);
  const summaries: RunSummary[] = [];
  for (const { list, params } of inLists([...new Set(runs)], this.dialect, 0))
    summaries.push(
      ...(yield* query<SummaryRow>(
        `SELECT ${SUMMARY_FIELDS} FROM runs r WHERE r.id IN ${list}`,
        params,
      )).map(toSummary),
    );
  return summaries;
});

/**
 * Counts the runs whose id is at least `since`, by status and by the first `digits` characters of
 * their ids. Of each status, at most the newest `max` runs are counted.
 */
export const countRunsByPeriod = read(
  "tenant",
  function* (tenant: string, since: string, digits: number, max: number): Verb<RunCount[]> {
    const counts: RunCount[] = [];
    for (const status of RUN_STATUSES)
      for (const { prefix, count } of yield* query<{ prefix: string; count: number }>(
        "SELECT prefix, count(*) AS count FROM (SELECT substr(id, 1, ?) AS prefix FROM runs " +
          "WHERE tenant_id = ? AND status = ? AND id >= ? ORDER BY id DESC LIMIT ?) AS picked GROUP BY prefix",
        [digits, tenant, status, since, max],
      ))
        counts.push({ prefix, status, count: Number(count) });
    return counts;
  },
);

/** The times of the newest runs that succeeded and whose id is at least `since`. */
export const listRunTimes = read("tenant", (tenant: string, since: string, limit: number) =>
  query<{ id: string; created_at: number; started_at: number; finished_at: number }>(
    "WITH picked AS MATERIALIZED (SELECT id FROM runs WHERE tenant_id = ? AND status = 'succeeded' AND id >= ? " +
      "ORDER BY id DESC LIMIT ?) " +
      "SELECT id, created_at, started_at, finished_at FROM runs WHERE id IN (SELECT id FROM picked) ORDER BY id DESC",
    [tenant, since, limit],
  ),
);

/** Counts the runs of each status whose id is at least `since`. Each count stops at `max`. */
export const countRuns = read(
  "tenant",
  function* (tenant: string, since: string, max: number): Verb<Record<RunStatus, number>> {
    const counts = {} as Record<RunStatus, number>;
    for (const status of RUN_STATUSES) {
      const row = yield* first<{ count: number }>(
        "SELECT count(*) AS count FROM (SELECT 1 FROM runs WHERE tenant_id = ? AND status = ? AND id >= ? LIMIT ?) AS found",
        [tenant, status, since, max],
      );
      counts[status] = Number(row?.count);
    }
    return counts;
  },
);

/** The default limits of a page of steps. */
const MAX_STEPS = 500;
const MAX_STEP_BYTES = 1024 * 1024;

/** A page of steps, with a `Preview` in place of each large input or output. */
export const listSteps = read(
  "tenant",
  function* (
    tenant: string,
    run: string,
    { after = 0, open = [], limit = MAX_STEPS, bytes = MAX_STEP_BYTES }: StepQuery = {},
  ): Verb<StepPage> {
    const key = [run, tenant];
    const read = function* <Row>(fields: string, ranges: readonly Range[]): Verb<Row[]> {
      const rows: Row[] = [];
      for (const { from, to } of ranges.filter(({ from, to }) => from <= to))
        rows.push(
          ...(yield* query<Row>(
            `SELECT ${fields} ${OF_RUN} AND nth >= ? AND nth <= ? ORDER BY nth`,
            [...key, from, to],
          )),
        );
      return rows;
    };
    const checked = open.slice(0, limit);
    const size = `nth, ${STEP_PREVIEW_BYTES} AS bytes`;
    const sizes = yield* read<StepSize>(size, toRanges(checked));
    let following: number | undefined = after + 1;
    // The numbers have gaps, because each write of a step takes one. So a range may not fill the page.
    do {
      // A range with two ends: without statistics, PostgreSQL would read all steps after the first.
      const to: number = following + limit - 1;
      sizes.push(...(yield* read<StepSize>(size, [{ from: following, to }])));
      following = yield* nextNumber(key, to);
    } while (following !== undefined && sizes.length < limit);
    const fitting = sizes.slice(0, countFitting(sizes.slice(0, limit), bytes));
    const numbers = fitting.map(({ nth }) => nth);
    const last = Math.max(after, ...numbers);
    const rows = yield* read<StepPreviewRow>(STEP_PREVIEW_FIELDS, [
      ...toRanges(numbers.filter((nth) => nth <= after)),
      { from: after + 1, to: last },
    ]);
    const items = rows.map(toStepPreview).sort((a, b) => a.nth - b.nth);
    const left = sizes.slice(fitting.length).map(({ nth }) => nth);
    const unread = [...checked.filter((nth) => left.includes(nth)), ...open.slice(limit)];
    if (left.length > 0) return { items, next: last, unread };
    if (following !== undefined) return { items, next: following - 1, unread };
    return { items, next: unread.length > 0 ? last : null, unread };
  },
);

interface Range {
  from: number;
  to: number;
}

/** Joins consecutive numbers to ranges: with a list of numbers, SQLite would read all steps of the run. */
function toRanges(numbers: readonly number[]): Range[] {
  const ranges: Range[] = [];
  for (const nth of numbers) {
    const last = ranges.at(-1);
    if (last && nth === last.to + 1) last.to = nth;
    else ranges.push({ from: nth, to: nth });
  }
  return ranges;
}

const OF_RUN = "FROM steps WHERE run_id = (SELECT id FROM runs WHERE id = ? AND tenant_id = ?)";

/** The first number of a step of the run after this one. */
function* nextNumber(key: readonly Value[], after: number): Verb<number | undefined> {
  const found = yield* first<{ nth: number | null }>(
    `SELECT min(nth) AS nth ${OF_RUN} AND nth > ?`,
    [...key, after],
  );
  return found?.nth ?? undefined;
}

interface StepSize {
  nth: number;
  bytes: number;
}

/** How many of the steps fit in one page: at least one. */
function countFitting(sizes: readonly StepSize[], bytes: number): number {
  let total = 0;
  const exceeding = sizes.findIndex((size) => {
    total += Number(size.bytes);
    return total > bytes;
  });
  return exceeding < 0 ? sizes.length : Math.max(exceeding, 1);
}

export const countSteps = read("tenant", function* (tenant: string, run: string): Verb<number> {
  const found = yield* first<{ count: number }>(`SELECT count(*) AS count ${OF_RUN}`, [
    run,
    tenant,
  ]);
  return Number(found?.count);
});

/** The size of a value as JSON in UTF-8; undefined if there is no such run or step. */
export const measureValue = read("tenant", function* (key: ValueKey): Verb<number | undefined> {
  const found = yield* readColumn<number>(key, `octet_length(${key.field})`);
  return found === undefined ? undefined : Number(found);
});

/** A value as JSON; undefined if there is no such run or step. */
export const readValue = read("tenant", (key: ValueKey) => readColumn<string>(key, key.field));

function* readColumn<Value>(
  { tenant, run, nth }: ValueKey,
  column: string,
): Verb<Value | undefined> {
  const found =
    nth === undefined
      ? yield* first<{ value: Value }>(
          `SELECT ${column} AS value FROM runs WHERE id = ? AND tenant_id = ?`,
          [run, tenant],
        )
      : yield* first<{ value: Value; nth: number }>(
          // With `nth = ?`, SQLite would read all steps of the run.
          `SELECT nth, ${column} AS value ${OF_RUN} AND nth >= ? ORDER BY nth LIMIT 1`,
          [run, tenant, nth],
        );
  return found && (!("nth" in found) || found.nth === nth) ? found.value : undefined;
}

/** The stored verdicts on an event, sorted by `flow_id` and `node_id`; by default all. */
export const listVerdicts = read(
  "tenant",
  function* (
    tenant: string,
    event: string,
    { matched, ...page }: TriggerPage & { matched?: boolean } = {},
  ): Verb<StoredVerdict[]> {
    const part = partOf(page);
    const rows = yield* query<
      Omit<StoredVerdict, "matched" | "reasons"> & { matched: number; reasons: string }
    >(
      "SELECT flow_id, node_id, version, matched, reasons, run_id FROM verdicts WHERE tenant_id = ? AND event_id = ?" +
        `${matched === undefined ? "" : ` AND matched = ${matched ? 1 : 0}`}${part.sql}`,
      [tenant, event, ...part.params],
    );
    return rows.map((row) => ({
      ...row,
      matched: row.matched === 1,
      reasons: decodeReasons(row.reasons),
    }));
  },
);

/** Most runs have fewer steps. A run with more is removed by several calls. */
const STEPS_PER_RUN = 20;
/** The `worker` of an ended run of which steps were removed: it cannot be retried. */
export const REMOVED_BY_RETENTION = "retention";

/**
 * Removes up to `limit` runs that ended before this time, and not before `since`. If they have many steps,
 * removes only steps. Returns the number of runs that it has worked on.
 */
export const sweepRuns = write(
  "own",
  function* (endedBefore: number, limit: number, since?: number): Verb<number> {
    const old = yield* query<{ id: string }>(
      `SELECT id FROM runs WHERE finished_at >= ? AND finished_at < ? ORDER BY finished_at LIMIT ?${this.dialect.skipLocked}`,
      [since ?? 0, endedBefore, limit],
    );
    const ids = old.map(({ id }) => id);
    yield* discountRuns(yield* removeRuns(this.dialect, ids, limit));
    return old.length;
  },
);

/** Removes runs of which the transaction has locked the rows; of runs with many steps, removes only steps. */
export function* removeRuns(
  dialect: Dialect,
  old: readonly string[],
  limit: number,
): Verb<CountedRun[]> {
  const removed: string[] = [];
  let left = limit * STEPS_PER_RUN;
  for (const { list, params } of inLists(old, dialect, 1)) {
    const ids = [...new Set(params)];
    const steps = yield* query<{ run_id: string }>(
      "DELETE FROM steps WHERE (run_id, node_id, item, attempt) IN " +
        `(SELECT run_id, node_id, item, attempt FROM steps WHERE run_id IN ${list} LIMIT ?) RETURNING run_id`,
      [...params, left],
    );
    left -= steps.length;
    if (left > 0) {
      removed.push(...(ids as string[]));
      continue;
    }
    for (const part of inLists([...new Set(steps.map(({ run_id }) => run_id))], dialect, 1))
      yield* query(`UPDATE runs SET worker = ? WHERE id IN ${part.list}`, [
        REMOVED_BY_RETENTION,
        ...part.params,
      ]);
    break;
  }
  const counted: CountedRun[] = [];
  for (const { list, params } of inLists(removed, dialect, 0)) {
    counted.push(
      ...(yield* query<CountedRun>(
        `DELETE FROM runs WHERE id IN ${list} RETURNING tenant_id, stored`,
        params,
      )),
    );
    yield* query(`DELETE FROM run_events WHERE run_id IN ${list}`, params);
  }
  return counted;
}
