/**
 * `runs.stored` is the estimated size of an ended run in the database, with its steps. `run_usage` sums it
 * for each tenant. It is a table of its own, because the end of a run must not lock the row of the tenant,
 * which transactions lock before runs.
 *
 * The functions that change `run_usage` must be called last in a transaction: its rows are locked after all
 * others, in the order of their tenants.
 */
import { type Dialect, execute, inLists, type Verb } from "../../../kernel/store/sql.ts";
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
