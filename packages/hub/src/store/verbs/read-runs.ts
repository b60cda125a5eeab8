/** Reads of runs, steps and verdicts, and the retention of runs. */
import {
  RUN_STATUSES,
  type Run,
  type RunQuery,
  type RunStatus,
  type Step,
  type StepsSince,
  type StoredVerdict,
} from "../run-store.ts";
import { type Dialect, first, inLists, query, type Value, type Verb } from "../sql.ts";
import { readSteps } from "./claim-runs.ts";
import {
  RUN_FIELDS,
  type RunRow,
  STEP_FIELDS_WITH_LOG,
  type StepRow,
  toRun,
  toStep,
} from "./run-rows.ts";

export function* getRun(tenant: string, id: string): Verb<Run | undefined> {
  const row = yield* first<RunRow>(
    `SELECT ${RUN_FIELDS} FROM runs WHERE id = ? AND tenant_id = ?`,
    [id, tenant],
  );
  return row && toRun(row);
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
  const rows = yield* query<RunRow>(
    `SELECT ${RUN_FIELDS} FROM runs WHERE ${conditions.join(" AND ")} ORDER BY id DESC LIMIT ?`,
    [...params, wanted.limit],
  );
  return rows.map(toRun);
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
  if (!(yield* getRun(tenant, run))) return [];
  if (!since) return (yield* readSteps(dialect, [run], STEP_FIELDS_WITH_LOG)).get(run) ?? [];
  const select = `SELECT ${STEP_FIELDS_WITH_LOG} FROM steps WHERE run_id = ? AND nth`;
  const rows = yield* query<StepRow>(`${select} > ?`, [run, since.after]);
  for (const { list, params } of inLists(since.open, dialect, 1))
    rows.push(...(yield* query<StepRow>(`${select} IN ${list}`, [run, ...params])));
  return rows.map(toStep).sort((a, b) => a.nth - b.nth);
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
