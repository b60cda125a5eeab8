/** Cancels and retries runs, for users and other runs. */

import { type Dialect, first, notify, query, type Verb } from "../../../kernel/store/sql.ts";
import { write } from "../../../kernel/store/verb.ts";
import { openStepError, TERMINAL_STATUSES } from "../model.ts";
import {
  type CountedRun,
  cancelCalledRuns,
  closeSteps,
  countEnded,
  discountRuns,
  notifyEnded,
  SET_STORED,
} from "./end-runs.ts";
import { previewRun, REMOVED_BY_RETENTION } from "./read-runs.ts";
import { updateEventStatus } from "./run-events.ts";
import { addDueTime, admitNext, type DueTimes, lockQueues, saveDueTimes } from "./run-queues.ts";
import { RUN_FIELDS, type RunRow } from "./run-rows.ts";

/**
 * Cancels the run; if a worker executes it, requests the cancellation. Returns the run
 * as `previewRun` does; undefined if it has ended or does not exist.
 */
export const cancelRun = write("tenant", function* (tenant: string, id: string, at: number) {
  const { dialect } = this;
  const row = yield* lockRun(dialect, tenant, id);
  if (!row || TERMINAL_STATUSES.includes(row.status)) return undefined;
  if (row.status === "running") {
    yield* query("UPDATE runs SET cancel_asked = 1 WHERE id = ?", [id]);
    yield* notify({ topic: "run_cancel", run: id });
  } else {
    const called = yield* cancelCalledRuns(dialect, [id], at);
    yield* lockQueues(dialect, [tenant]);
    yield* closeSteps(id, at, (node) => openStepError("cancelled", node));
    yield* query(
      `UPDATE runs SET status = 'cancelled', cancel_asked = 1, finished_at = ?, ${SET_STORED} WHERE id = ?`,
      [at, 0, id],
    );
    // If the run was admitted to its lane, the next held run is admitted instead.
    const dueTimes: DueTimes = new Map();
    if (row.status === "queued") yield* admitNext(dialect, row, at, dueTimes);
    yield* saveDueTimes(dueTimes);
    yield* notifyEnded(row, "cancelled", at);
    yield* updateEventStatus(dialect, [row]);
    yield* countEnded(dialect, [row, ...called]);
  }
  return yield* previewRun.call(this, tenant, id);
});

/**
 * Continues a failed or cancelled run at the steps that failed or did not end. Other steps are not
 * repeated. Returns the run as `previewRun` does; undefined if it does not exist or has another status.
 */
export const retryRun = write("tenant", function* (tenant: string, id: string, at: number) {
  const row = yield* lockRun(this.dialect, tenant, id);
  if (row?.status !== "failed" && row?.status !== "cancelled") return undefined;
  if (row.worker === REMOVED_BY_RETENTION) return undefined;
  const counted = yield* query<CountedRun>("SELECT tenant_id, stored FROM runs WHERE id = ?", [id]);
  // A retried step is executed again as a new attempt. The record of the failed attempt stays.
  yield* query(
    "UPDATE steps SET status = 'retried' WHERE run_id = ? AND status IN ('failed', 'running', 'waiting')",
    [id],
  );
  yield* query("DELETE FROM steps WHERE run_id = ? AND status = 'skipped'", [id]);
  yield* query(
    "UPDATE runs SET status = 'queued', due_at = ?, cancel_asked = 0, idle_claims = 0, " +
      "error = 'null', finished_at = NULL, stored = NULL WHERE id = ?",
    [at, id],
  );
  const dueTimes: DueTimes = new Map();
  addDueTime(dueTimes, row, at);
  yield* saveDueTimes(dueTimes);
  yield* updateEventStatus(this.dialect, [row]);
  yield* discountRuns(counted);
  return yield* previewRun.call(this, tenant, id);
});

/** Enables `run_steps` notices for this run until `until`. */
export const enableStepNotices = write(
  "tenant",
  function* (tenant: string, id: string, until: number): Verb<void> {
    yield* query(
      "UPDATE runs SET followed_until = ? WHERE id = ? AND tenant_id = ? AND followed_until < ?",
      [until, id, tenant, until],
    );
  },
);

function* lockRun(dialect: Dialect, tenant: string, id: string): Verb<RunRow | undefined> {
  return yield* first<RunRow>(
    `SELECT ${RUN_FIELDS} FROM runs WHERE id = ? AND tenant_id = ?${dialect.forUpdate}`,
    [id, tenant],
  );
}
