/**
 * Recovers runs whose lease has expired, because their worker has died or was too slow: they are claimed
 * again, unless they have probably crashed their workers.
 */
import { type Dialect, inLists, notify, query, type Verb } from "../../../kernel/store/sql.ts";
import type { RunLease } from "../model.ts";
import {
  cancelCalledRuns,
  closeSteps,
  type EndedRun,
  notifyEnded,
  SET_STORED,
} from "./end-runs.ts";
import { addDueTime, admitNext, type DueTimes, lockQueues, saveDueTimes } from "./run-queues.ts";
import type { RunRow } from "./run-rows.ts";

/**
 * A run that was claimed this often without progress fails, if its last worker has died while it executed
 * no other run: the run has probably crashed its workers.
 */
const MAX_DEATHS = 3;

/** Otherwise a run fails after this many claims without progress. */
const MAX_IDLE_CLAIMS = 10;

/**
 * After this many claims without progress, a run is a suspect. Suspects are claimed one at a time, so
 * that a run that crashes its workers does not use up the claims of the others.
 */
const MAX_SHARED_CLAIMS = 2;

type ExpiredRun = Pick<
  RunRow,
  | "id"
  | "tenant_id"
  | "app"
  | "flow_id"
  | "parent_run"
  | "event_id"
  | "gathered_count"
  | "lane"
  | "lane_limit"
  | "idle_claims"
  | "started_at"
>;

interface Requeued {
  /** Runs whose lease has expired. */
  expired: readonly ExpiredRun[];
  /** Runs that have failed, or were cancelled because their caller failed. */
  ended: readonly EndedRun[];
}

/**
 * Requeues runs whose lease has expired. A run with `MAX_DEATHS` or `MAX_IDLE_CLAIMS` claims without
 * progress fails instead. Of the suspects, only the one with the greatest call depth is returned, and the
 * caller claims it alone, on trial. The leases of the others are extended to the end of the trial.
 * `admitSuspect` ends the trial early, when the claimed suspect makes progress or ends.
 */
export function* requeueExpired(
  dialect: Dialect,
  { worker, now, until }: RunLease,
  limit: number,
): Verb<Requeued & { suspect?: string }> {
  const found = yield* findExpired(dialect, now, limit);
  if (found.length === 0) return { expired: [], ended: [] };
  const killer = found.some((run) => isOnTrial(run)) ? yield* findKiller(worker) : undefined;
  const isStuck = ({ id, idle_claims }: LostRun) => id === killer || idle_claims >= MAX_IDLE_CLAIMS;
  const isSuspect = (run: LostRun) => run.idle_claims >= MAX_SHARED_CLAIMS && !isStuck(run);
  const suspects = found.some(isSuspect)
    ? (yield* findExpired(dialect, now, MAX_SET_ASIDE)).filter(isSuspect)
    : [];
  const requeued = yield* requeue(
    dialect,
    found.filter((run) => !isSuspect(run)),
    found.filter(isStuck).map(idOf),
    now,
  );
  yield* acquitCompanions(dialect, found);
  const [deepest, ...others] = suspects.sort((a, b) => b.depth - a.depth);
  if (!deepest) return requeued;
  const trialEnd = now + trialTime(deepest, until - now);
  for (const { list, params } of inLists(others.map(idOf), dialect, 1))
    yield* query(`UPDATE runs SET lease_until = ?, worker = NULL WHERE id IN ${list}`, [
      trialEnd,
      ...params,
    ]);
  return { ...requeued, suspect: deepest.id };
}

/** A run whose lease has expired. */
type LostRun = Pick<RunRow, "id" | "idle_claims" | "depth"> & { worker: string | null };

const findExpired = (dialect: Dialect, now: number, limit: number): Verb<LostRun[]> =>
  query<LostRun>(
    "SELECT id, idle_claims, depth, worker FROM runs WHERE status = 'running' AND lease_until <= ? " +
      `ORDER BY lease_until LIMIT ?${dialect.skipLocked}`,
    [now, limit],
  );

/**
 * Returns the run with `MAX_DEATHS` claims that was the only run of its worker, if it is the only such
 * suspect. Otherwise another run, or something else that ended many workers, may be the cause, so the runs
 * are tried again. If its worker is `worker` itself, that worker has not died: it could not load the run,
 * for example.
 */
function* findKiller(worker: string): Verb<string | undefined> {
  const [suspect, another] = yield* query<{ id: string; worker: string }>(
    "SELECT id, worker FROM runs WHERE status = 'running' AND worker IS NOT NULL AND idle_claims >= ? LIMIT 2",
    [MAX_DEATHS],
  );
  if (!suspect || another || suspect.worker === worker) return undefined;
  const runs = yield* query("SELECT id FROM runs WHERE status = 'running' AND worker = ? LIMIT 2", [
    suspect.worker,
  ]);
  return runs.length === 1 ? suspect.id : undefined;
}

/**
 * The leases of a worker's runs can expire at different times. A suspect whose lease expires later was not
 * the only run of its worker, although it soon is the only one that is left. Without a worker, it is tried
 * again.
 */
function* acquitCompanions(dialect: Dialect, lost: readonly LostRun[]): Verb<void> {
  const workers = [...new Set(lost.flatMap(({ worker }) => worker ?? []))];
  const ids = new Set(lost.map(idOf));
  for (const { list, params } of inLists(workers, dialect, 1))
    for (const { id } of yield* query<{ id: string }>(
      `SELECT id FROM runs WHERE status = 'running' AND worker IN ${list} AND idle_claims >= ?`,
      [...params, MAX_DEATHS],
    ))
      if (!ids.has(id)) yield* query("UPDATE runs SET worker = NULL WHERE id = ?", [id]);
}

/** The maximum number of suspects whose leases one claim extends. Later claims extend the others. */
const MAX_SET_ASIDE = 1_000;

/**
 * A fraction of the lease that doubles with each claim. Short at first: most suspects only shared a
 * worker with the run that crashed it.
 */
const trialTime = ({ idle_claims }: LostRun, lease: number): number =>
  Math.ceil(lease / Math.max(1, 2 ** (4 + MAX_SHARED_CLAIMS - idle_claims)));

/** Makes the next suspect claimable now, since the one before it has not crashed its worker. */
export function* admitSuspect(dialect: Dialect, now: number): Verb<void> {
  const admitted = yield* query(
    "UPDATE runs SET lease_until = ? WHERE id = (SELECT id FROM runs WHERE status = 'running' " +
      `AND worker IS NULL AND lease_until > ? ORDER BY lease_until LIMIT 1${dialect.skipLocked}) RETURNING id`,
    [now, now],
  );
  if (admitted.length > 0) yield* notify({ topic: "runs", due: now });
}

/**
 * Whether a claimed run was a suspect when it was claimed, and has made no progress since. `idle_claims`
 * includes the current claim.
 */
export const isOnTrial = ({ idle_claims }: Pick<RunRow, "idle_claims">): boolean =>
  idle_claims > MAX_SHARED_CLAIMS;

const idOf = ({ id }: { id: string }): string => id;

function* requeue(
  dialect: Dialect,
  lost: readonly { id: string }[],
  stuckIds: readonly string[],
  now: number,
): Verb<Requeued> {
  const expired: ExpiredRun[] = [];
  for (const { list, params } of inLists(lost.map(idOf), dialect, 0))
    expired.push(
      ...(yield* query<ExpiredRun>(
        `UPDATE runs SET status = 'queued', worker = NULL WHERE id IN ${list} ` +
          "RETURNING id, tenant_id, app, flow_id, parent_run, event_id, gathered_count, lane, lane_limit, idle_claims, started_at",
        params,
      )),
    );
  const dueTimes: DueTimes = new Map();
  for (const run of expired) addDueTime(dueTimes, run, now);
  const stuck = yield* withoutCallers(
    dialect,
    expired.filter(({ id }) => stuckIds.includes(id)),
  );
  const ended: EndedRun[] = [...stuck];
  if (stuck.length > 0) {
    ended.push(...(yield* cancelCalledRuns(dialect, stuck.map(idOf), now)));
    yield* lockQueues(
      dialect,
      expired.map(({ tenant_id }) => tenant_id),
    );
  }
  for (const run of stuck) yield* failStuck(dialect, run, now, dueTimes);
  yield* saveDueTimes(dueTimes);
  return { expired, ended };
}

/**
 * If a called run and its caller must both fail, only the called run fails, and the caller continues with
 * that result.
 */
function* withoutCallers(
  dialect: Dialect,
  stuck: readonly ExpiredRun[],
): Verb<readonly ExpiredRun[]> {
  const callers = stuck.flatMap(({ parent_run }) => parent_run ?? []);
  if (callers.length === 0) return stuck;
  const ancestors = new Set(yield* propagateProgress(dialect, callers));
  return stuck.filter(({ id }) => !ancestors.has(id));
}

function* failStuck(
  dialect: Dialect,
  run: ExpiredRun,
  now: number,
  dueTimes: DueTimes,
): Verb<void> {
  const error = {
    code: "gave_up",
    message:
      `The run was claimed ${run.idle_claims} times in a row, and each time its worker stopped before ` +
      "the run finished a step. The step may need too much memory or computing time.",
  };
  const open = yield* closeSteps(run.id, now, (node_id) => ({ ...error, node_id }));
  const json = JSON.stringify(open.length === 1 ? { ...error, node_id: open[0] } : error);
  yield* query(
    `UPDATE runs SET status = 'failed', error = ?, finished_at = ?, ${SET_STORED} WHERE id = ?`,
    [json, now, json.length, run.id],
  );
  yield* admitNext(dialect, run, now, dueTimes);
  yield* notifyEnded(run, "failed", now);
}

/**
 * The progress of a called run counts as progress of its callers. Resets `idle_claims`, where it is above
 * one, of `callers` and of all runs that called them. Returns the ids of all these runs. Skips locked rows,
 * to avoid a deadlock: the transaction has locked the called run, and others lock callers before called runs.
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
