/** Saves the progress of runs: their steps, and their end or suspension. */

import { writeJson } from "@signalbox/rules/large-json.ts";
import {
  type Dialect,
  execute,
  inLists,
  insert,
  notify,
  query,
  type Value,
  type Verb,
} from "../../../kernel/store/sql.ts";
import { write } from "../../../kernel/store/verb.ts";
import { openStepError, type RunProgress, type WrittenStep } from "../model.ts";
import {
  cancelCalledRuns,
  closeSteps,
  countEnded,
  type EndedRun,
  notifyEnded,
  SET_STORED,
} from "./end-runs.ts";
import { insertStarted } from "./queue-runs.ts";
import { admitSuspect, isOnTrial, propagateProgress } from "./recover-runs.ts";
import { updateEventStatus } from "./run-events.ts";
import {
  addDueTime,
  admitNext,
  type DueTimes,
  isLimited,
  lockQueues,
  saveDueTimes,
} from "./run-queues.ts";
import { type RunRow, STEP_COLUMNS, startOf, stepValues } from "./run-rows.ts";

type Next = NonNullable<RunProgress["next"]>;
/** Does not include columns that can be large, since these fields are read for every saved step. */
const LEASED_FIELDS = [
  "id",
  "tenant_id",
  "app",
  "flow_id",
  "event_id",
  "parent_run",
  "depth",
  "gathered_count",
  "lane",
  "lane_limit",
  "claims",
  "idle_claims",
  "cancel_asked",
  "started_at",
] as const;
type LeasedRun = Pick<RunRow, (typeof LEASED_FIELDS)[number]> & { followed_until: number };

interface ReleasedRun {
  row: LeasedRun;
  next: Next;
  now: number;
  /** False if the run is stored only now: a run calls others only after it was stored. */
  mayHaveCalled: boolean;
}

/** `lost`: the progress was not saved, because the claim is no longer valid or the run has ended. */
export const saveProgress = write("own", function* (batch: readonly RunProgress[]) {
  const { dialect } = this;
  yield* insertStarted(batch.flatMap(({ start }) => start ?? []));
  const leased = yield* lockLeased(dialect, batch);
  const steps = new Map<string, Value[]>();
  const released: ReleasedRun[] = [];
  const progressed = new Set<string>();
  const callers = new Set<string>();
  const followed = new Set<string>();
  let trialEndedAt: number | undefined;
  const outcomes = batch.map(({ run, claim, start, steps: changedSteps, next, now }) => {
    const row = leased.get(run);
    if (row?.claims !== claim) return "lost";
    for (const step of changedSteps)
      steps.set(
        JSON.stringify([run, step.node_id, step.item, step.attempt]),
        stepValues(run, step),
      );
    const hasProgress = next !== undefined || changedSteps.some(isProgress);
    if (row.idle_claims > 1 && !next && hasProgress) progressed.add(run);
    if (isOnTrial(row) && hasProgress) trialEndedAt = now;
    if (row.parent_run !== null && hasProgress) callers.add(row.parent_run);
    // The end of a run has its own notice.
    if (row.followed_until > now && (!next || isSuspended(next))) followed.add(run);
    if (next) {
      leased.delete(run);
      released.push({ row, next: endIfCancelled(row, next), now, mayHaveCalled: !start });
    }
    return "saved";
  });
  yield* insert(
    "steps",
    STEP_COLUMNS,
    [...steps.values()],
    "ON CONFLICT (run_id, node_id, item, attempt) DO UPDATE SET status = excluded.status, port = excluded.port, " +
      "input = excluded.input, output = excluded.output, input_start = excluded.input_start, " +
      "output_start = excluded.output_start, error = excluded.error, log = excluded.log, " +
      "started_at = excluded.started_at, finished_at = excluded.finished_at",
  );
  for (const { list, params } of inLists([...progressed].sort(), dialect, 0))
    yield* execute(`UPDATE runs SET idle_claims = 0 WHERE id IN ${list}`, params);
  if (callers.size > 0) yield* propagateProgress(dialect, callers);
  const ended = yield* release(dialect, released);
  if (trialEndedAt !== undefined) yield* admitSuspect(dialect, trialEndedAt);
  yield* notifySteps([...followed]);
  yield* countEnded(dialect, ended);
  return outcomes;
});

/** PostgreSQL limits a notice to 8000 bytes. */
const RUNS_PER_NOTICE = 100;

function* notifySteps(runs: readonly string[]): Verb<void> {
  for (let at = 0; at < runs.length; at += RUNS_PER_NOTICE)
    yield* notify({ topic: "run_steps", runs: runs.slice(at, at + RUNS_PER_NOTICE) });
}

/** A step that has only started is not progress: a worker starts interrupted steps again. */
const isProgress = ({ status }: WrittenStep): boolean => status !== "running";

/** Locks the running runs of the batch, and returns them by id. */
function* lockLeased(
  dialect: Dialect,
  batch: readonly RunProgress[],
): Verb<Map<string, LeasedRun>> {
  const leased = new Map<string, LeasedRun>();
  const ids = [...new Set(batch.map(({ run }) => run))].sort();
  for (const { list, params } of inLists(ids, dialect, 0))
    for (const row of yield* query<LeasedRun>(
      `SELECT ${LEASED_FIELDS.join(", ")}, followed_until FROM runs WHERE id IN ${list} AND status = 'running' ORDER BY id${dialect.forUpdate}`,
      params,
    ))
      leased.set(row.id, row);
  return leased;
}

const isSuspended = (next: Next) => next.status === "waiting" || next.status === "queued";

/** Cancels a run that would be suspended: then no worker could handle the requested cancellation. */
const endIfCancelled = (row: LeasedRun, next: Next): Next =>
  row.cancel_asked === 1 && isSuspended(next) ? { status: "cancelled" } : next;

/** Returns the runs that end. A run that would be suspended is cancelled if its caller ends as well. */
function findEnded(released: readonly ReleasedRun[]): ReadonlySet<string> {
  const ended = new Set<string>();
  for (const run of released.toSorted((a, b) => a.row.depth - b.row.depth)) {
    if (ended.has(run.row.parent_run ?? "") && isSuspended(run.next))
      run.next = { status: "cancelled" };
    if (!isSuspended(run.next)) ended.add(run.row.id);
  }
  return ended;
}

/**
 * Ends the leases. The runs have ended, or are suspended until a worker claims them again. Returns all runs
 * that have ended.
 */
function* release(dialect: Dialect, released: readonly ReleasedRun[]): Verb<EndedRun[]> {
  const [first] = released;
  if (!first) return [];
  const ended = findEnded(released);
  const callers = released.filter(({ mayHaveCalled, row }) => mayHaveCalled && ended.has(row.id));
  const cancelled = yield* cancelCalledRuns(
    dialect,
    callers.map(({ row }) => row.id),
    first.now,
  );
  const queued = released.filter(({ row, next }) => isLimited(row) || isSuspended(next));
  yield* lockQueues(
    dialect,
    queued.map(({ row }) => row.tenant_id),
  );
  const dueTimes: DueTimes = new Map();
  for (const { row, next, now } of released) {
    if (next.status === "waiting" || next.status === "queued") {
      yield* execute(
        "UPDATE runs SET status = ?, due_at = ?, worker = NULL, idle_claims = 0 WHERE id = ?",
        [next.status, next.due_at, row.id],
      );
      addDueTime(dueTimes, row, next.due_at);
    } else {
      const output = writeJson(next.status === "succeeded" ? next.output : null);
      const error = JSON.stringify(next.status === "failed" ? next.error : null);
      // If the worker wanted to suspend the run, its steps are still open.
      if (next.status === "cancelled")
        yield* closeSteps(row.id, now, (node) => openStepError("cancelled", node));
      yield* execute(
        `UPDATE runs SET status = ?, output = ?, output_start = ?, error = ?, finished_at = ?, worker = NULL, ${SET_STORED} WHERE id = ?`,
        [next.status, output, startOf(output), error, now, output.length + error.length, row.id],
      );
      yield* notifyEnded(row, next.status, now);
    }
    yield* admitNext(dialect, row, now, dueTimes);
  }
  yield* saveDueTimes(dueTimes);
  yield* updateEventStatus(
    dialect,
    released.map(({ row }) => row),
  );
  return [...cancelled, ...released.flatMap(({ row }) => (ended.has(row.id) ? [row] : []))];
}
