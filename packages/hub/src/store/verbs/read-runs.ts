/** Reads of runs, steps and verdicts, and the retention of runs. */
import {
  RUN_STATUSES,
  type Run,
  type RunQuery,
  type RunStatus,
  type Step,
  type StepsSince,
  type StoredVerdict,
  type ValueKey,
} from "../run-store.ts";
import { type Dialect, first, inLists, query, type Value, type Verb } from "../sql.ts";
import {
  MAX_WHOLE_TOTAL,
  RUN_FIELDS,
  RUN_PREVIEW_FIELDS,
  type RunPreviewRow,
  type RunRow,
  STEP_PREVIEW_FIELDS,
  STEP_SMALL_PREVIEW_FIELDS,
  type StepPreviewRow,
  toRun,
  toRunPreview,
  toStepPreview,
} from "./run-rows.ts";

export function* getRun(tenant: string, id: string): Verb<Run | undefined> {
  const row = yield* first<RunRow>(
    `SELECT ${RUN_FIELDS} FROM runs WHERE id = ? AND tenant_id = ?`,
    [id, tenant],
  );
  return row && toRun(row);
}

export function* previewRun(tenant: string, id: string): Verb<Run | undefined> {
  const row = yield* first<RunPreviewRow>(
    `SELECT ${RUN_PREVIEW_FIELDS} FROM runs WHERE id = ? AND tenant_id = ?`,
    [id, tenant],
  );
  return row && toRunPreview(row);
}

export function* findRun(tenant: string, key: string): Verb<Run | undefined> {
  const row = yield* first<RunRow>(
    `SELECT ${RUN_FIELDS} FROM runs WHERE tenant_id = ? AND run_key = ?`,
    [tenant, key],
  );
  return row && toRun(row);
}

export function* listRuns(wanted: RunQuery): Verb<Run[]> {
  const conditions = ["tenant_id = ?"];
  const params: Value[] = [wanted.tenant];
  for (const [condition, value] of [
    ["id < ?", wanted.before],
    ["flow_id = ?", wanted.flow],
    ["app = ?", wanted.app],
    ["token_id = ?", wanted.token],
    ["status = ?", wanted.status],
    ["id IN (SELECT run_id FROM run_events WHERE event_id = ?)", wanted.event],
  ] as const)
    if (value !== undefined) {
      conditions.push(condition);
      params.push(value);
    }
  const rows = yield* query<RunPreviewRow>(
    `SELECT ${RUN_PREVIEW_FIELDS} FROM runs WHERE ${conditions.join(" AND ")} ORDER BY id DESC LIMIT ?`,
    [...params, wanted.limit],
  );
  return rows.map(toRunPreview);
}

export function* countRuns(
  tenant: string,
  since: string,
  max: number,
): Verb<Record<RunStatus, number>> {
  const counts = {} as Record<RunStatus, number>;
  for (const status of RUN_STATUSES) {
    const row = yield* first<{ count: number }>(
      "SELECT count(*) AS count FROM (SELECT 1 FROM runs WHERE tenant_id = ? AND status = ? AND id >= ? LIMIT ?) AS found",
      [tenant, status, since, max],
    );
    counts[status] = Number(row?.count);
  }
  return counts;
}

export function* listSteps(
  dialect: Dialect,
  tenant: string,
  run: string,
  since?: StepsSince,
): Verb<Step[]> {
  const bytes = yield* first<{ total: number | null }>(
    "SELECT (SELECT sum(octet_length(input) + octet_length(output)) FROM steps WHERE run_id = ?) AS total " +
      "FROM runs WHERE id = ? AND tenant_id = ?",
    [run, run, tenant],
  );
  if (!bytes) return [];
  const isLarge = Number(bytes.total ?? 0) > MAX_WHOLE_TOTAL;
  const fields = isLarge ? STEP_SMALL_PREVIEW_FIELDS : STEP_PREVIEW_FIELDS;
  const select = `SELECT ${fields} FROM steps WHERE run_id = ?`;
  if (!since)
    return (yield* query<StepPreviewRow>(`${select} ORDER BY nth`, [run])).map(toStepPreview);
  const rows = yield* query<StepPreviewRow>(`${select} AND nth > ?`, [run, since.after]);
  for (const { list, params } of inLists(since.open, dialect, 1))
    rows.push(...(yield* query<StepPreviewRow>(`${select} AND nth IN ${list}`, [run, ...params])));
  return rows.map(toStepPreview).sort((a, b) => a.nth - b.nth);
}

export function* measureValue(key: ValueKey): Verb<number | undefined> {
  const found = yield* readColumn<number>(key, `octet_length(${key.field})`);
  return found === undefined ? undefined : Number(found);
}

export const readValue = (key: ValueKey): Verb<string | undefined> =>
  readColumn<string>(key, key.field);

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
      : yield* first<{ value: Value }>(
          `SELECT ${column} AS value FROM steps ` +
            "WHERE run_id = (SELECT id FROM runs WHERE id = ? AND tenant_id = ?) AND nth = ?",
          [run, tenant, nth],
        );
  return found?.value;
}

export function* listVerdicts(tenant: string, event: string): Verb<StoredVerdict[]> {
  const rows = yield* query<
    Omit<StoredVerdict, "matched" | "reasons"> & { matched: number; reasons: string }
  >(
    "SELECT flow_id, node_id, version, matched, reasons, run_id FROM verdicts WHERE tenant_id = ? AND event_id = ? " +
      "ORDER BY flow_id, node_id",
    [tenant, event],
  );
  return rows.map((row) => ({
    ...row,
    matched: row.matched === 1,
    reasons: JSON.parse(row.reasons) as StoredVerdict["reasons"],
  }));
}

export function* sweepRuns(dialect: Dialect, endedBefore: number, limit: number): Verb<number> {
  const removed = yield* query<{ id: string }>(
    "WITH old AS MATERIALIZED (SELECT id FROM runs WHERE finished_at < ? " +
      `ORDER BY finished_at LIMIT ?${dialect.skipLocked}) ` +
      "DELETE FROM runs WHERE id IN (SELECT id FROM old) RETURNING id",
    [endedBefore, limit],
  );
  const ids = removed.map(({ id }) => id);
  for (const { list, params } of inLists(ids, dialect, 0)) {
    yield* query(`DELETE FROM steps WHERE run_id IN ${list}`, params);
    yield* query(`DELETE FROM run_events WHERE run_id IN ${list}`, params);
  }
  return removed.length;
}
