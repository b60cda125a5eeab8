/**
 * The end of runs: their open steps fail, the runs that they have called are cancelled, and their bytes are
 * counted.
 *
 * `runs.stored` is the estimated size of an ended run in the database, with its steps. `run_usage` sums it
 * for each tenant. It is a table of its own, because the end of a run must not lock the row of the tenant,
 * which transactions lock before runs. The functions that change `run_usage` must be called last in a
 * transaction: its rows are locked after all others, in the order of their tenants.
 */
import {
  type Dialect,
  execute,
  inLists,
  notify,
  query,
  type Verb,
} from "../../../kernel/store/sql.ts";
import { type EndStatus, openStepError, type RunError } from "../model.ts";
import type { RunRow } from "./run-rows.ts";

export type EndedRun = Pick<RunRow, "id" | "tenant_id">;

/** Pages of small rows are not full. The part of a large row that does not fill a page leaves space next to it. */
const inPages = (bytes: string): string =>
  `CASE WHEN ${bytes} > 2000 THEN ${bytes} + 1500 ELSE (${bytes}) * 115 / 100 END`;
const lengths = (columns: string): string =>
  columns
    .split(", ")
    .map((column) => `octet_length(${column})`)
    .join(" + ");

/** The numbers of a step, the headers of its row and its index entries, and its three copies of the run's id. */
const STEP_BYTES = inPages(
  `180 + 2 * (${lengths("node_id, item")}) + ${lengths("input, output, error")} + coalesce(octet_length(log), 0)`,
);
/** The same for a run, with eight copies of its id. Each link to an event is two rows of an index. */
const RUN_BYTES = inPages(
  `460 + 6 * octet_length(tenant_id) + 2 * (${lengths("app, flow_id")}) + coalesce(2 * octet_length(run_key), 0) + ` +
    `${lengths("trigger_node, chain, input, output, error, gathered")} + ` +
    "250 * (gathered_count + CASE WHEN event_id IS NULL THEN 0 ELSE 1 END)",
);

/**
 * An assignment in the UPDATE that ends a run. The steps must be up to date. The parameter is the length of
 * the values that the same UPDATE writes, because an expression has only the former ones.
 */
export const SET_STORED = `stored = ${RUN_BYTES} + coalesce((SELECT sum(${STEP_BYTES}) FROM steps WHERE run_id = runs.id), 0) + ?`;

const byTenant = (a: { tenant_id: string }, b: { tenant_id: string }): number =>
  a.tenant_id < b.tenant_id ? -1 : Number(a.tenant_id > b.tenant_id);

/** Adds the stored bytes of runs that this transaction has ended. */
export function* countEnded(dialect: Dialect, ended: readonly EndedRun[]): Verb<void> {
  const ids = ended.toSorted(byTenant).map(({ id }) => id);
  for (const { list, params } of inLists(ids, dialect, 0))
    yield* execute(
      "INSERT INTO run_usage (tenant_id, bytes) " +
        `SELECT tenant_id, sum(stored) FROM runs WHERE id IN ${list} GROUP BY tenant_id ORDER BY tenant_id ` +
        "ON CONFLICT (tenant_id) DO UPDATE SET bytes = run_usage.bytes + excluded.bytes",
      params,
    );
}

/** `stored`: null if the run has ended before its bytes were counted. */
export type CountedRun = Pick<RunRow, "tenant_id"> & { stored: number | null };

/** Subtracts the stored bytes of runs that this transaction has removed, or that no longer have ended. */
export function* discountRuns(runs: readonly CountedRun[]): Verb<void> {
  const ofTenants = Map.groupBy(runs.toSorted(byTenant), ({ tenant_id }) => tenant_id);
  for (const [tenant, ofTenant] of ofTenants) {
    const bytes = ofTenant.reduce((sum, { stored }) => sum + (stored ?? 0), 0);
    if (bytes > 0)
      yield* execute("UPDATE run_usage SET bytes = bytes - ? WHERE tenant_id = ?", [bytes, tenant]);
  }
}

/** Fails the steps of an ended run that have not ended. Returns the ids of their nodes. */
export function* closeSteps(
  run: string,
  at: number,
  errorOf: (node: string) => RunError,
): Verb<string[]> {
  const open = yield* query<{ node_id: string }>(
    "SELECT DISTINCT node_id FROM steps WHERE run_id = ? AND status IN ('running', 'waiting')",
    [run],
  );
  for (const { node_id } of open)
    yield* query(
      "UPDATE steps SET status = 'failed', output = 'null', error = ?, finished_at = ? " +
        "WHERE run_id = ? AND node_id = ? AND status IN ('running', 'waiting')",
      [JSON.stringify(errorOf(node_id)), at, run, node_id],
    );
  return open.map(({ node_id }) => node_id);
}

export function* notifyEnded(
  { id, tenant_id, started_at }: Pick<RunRow, "id" | "tenant_id" | "started_at">,
  status: EndStatus,
  at: number,
): Verb<void> {
  // The clocks of replicas can differ: `at` may be before `started_at`.
  const took = started_at === null ? null : Math.max(0, at - started_at);
  yield* notify({ topic: "run_ended", tenant: tenant_id, run: id, status, took });
}

/**
 * Cancels the runs that `callers`, which have ended, have called. If a worker executes a called run,
 * requests its cancellation. No lane or event is updated, because called runs have none. The transaction
 * must not have locked a queue; see run-queues.ts. Returns the runs that have ended; the caller counts them.
 */
export function* cancelCalledRuns(
  dialect: Dialect,
  callers: readonly string[],
  at: number,
): Verb<EndedRun[]> {
  const ended: EndedRun[] = [];
  for (const { list, params } of inLists(callers, dialect, 0)) {
    const called = yield* query<Pick<RunRow, "id" | "tenant_id" | "status" | "started_at">>(
      `SELECT id, tenant_id, status, started_at FROM runs WHERE parent_run IN ${list} AND finished_at IS NULL ` +
        `ORDER BY id${dialect.forUpdate}`,
      params,
    );
    for (const run of called) {
      const { id, status } = run;
      if (status === "running") {
        yield* query("UPDATE runs SET cancel_asked = 1 WHERE id = ?", [id]);
        yield* notify({ topic: "run_cancel", run: id });
        continue;
      }
      yield* closeSteps(id, at, (node) => openStepError("cancelled", node));
      yield* query(
        `UPDATE runs SET status = 'cancelled', cancel_asked = 1, finished_at = ?, ${SET_STORED} WHERE id = ?`,
        [at, 0, id],
      );
      yield* notifyEnded(run, "cancelled", at);
      ended.push(run);
    }
  }
  if (ended.length === 0) return [];
  const ids = ended.map(({ id }) => id);
  return [...ended, ...(yield* cancelCalledRuns(dialect, ids, at))];
}
