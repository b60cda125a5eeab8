/** Runs that were called by other runs: their progress, and their cancellation when the caller ends. */

import { type Dialect, inLists, notify, query, type Verb } from "../../../kernel/store/sql.ts";
import { openStepError } from "../model.ts";
import { closeSteps } from "./close-steps.ts";
import { notifyEnded } from "./notify-ended.ts";
import type { RunRow } from "./run-rows.ts";
import { type EndedRun, SET_STORED } from "./run-usage.ts";

/**
 * The progress of a called run counts as progress of its callers. Resets `idle_claims`, where it is above
 * one, of `callers` and of all runs that called them. Returns the ids of all these runs. Skips locked rows, to avoid
 * a deadlock: the transaction has locked the called run, and others lock callers before called runs.
 */
export function* propagateProgress(dialect: Dialect, callers: Iterable<string>): Verb<string[]> {
  const ancestors: string[] = [];
  const idle: string[] = [];
  for (let next = [...new Set(callers)]; next.length > 0; ) {
    const found = yield* readIdleClaims(dialect, next);
    ancestors.push(...next);
    for (const { id, idle_claims } of found) if (idle_claims > 1) idle.push(id);
    next = [...new Set(found.flatMap(({ parent_run }) => parent_run ?? []))];
  }
  for (const { list, params } of inLists(idle, dialect, 0))
    yield* query(
      `WITH free AS MATERIALIZED (SELECT id FROM runs WHERE id IN ${list}${dialect.skipLocked}) ` +
        "UPDATE runs SET idle_claims = 0 WHERE id IN (SELECT id FROM free)",
      params,
    );
  return ancestors;
}

type RunWithIdleClaims = Pick<RunRow, "id" | "parent_run" | "idle_claims">;

function* readIdleClaims(dialect: Dialect, runs: readonly string[]): Verb<RunWithIdleClaims[]> {
  const found: RunWithIdleClaims[] = [];
  for (const { list, params } of inLists(runs, dialect, 0))
    found.push(
      ...(yield* query<RunWithIdleClaims>(
        `SELECT id, parent_run, idle_claims FROM runs WHERE id IN ${list}`,
        params,
      )),
    );
  return found;
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
