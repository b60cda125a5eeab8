/**
 * Applies `WhenFull` to new runs whose lane has reached its limit. The caller must have locked the rows
 * of the tenants, so that no other transaction adds runs.
 */

import { type Dialect, execute, inLists, query, type Verb } from "../../../kernel/store/sql.ts";
import type { NewRun, RunError } from "../model.ts";
import { notifyEnded, SET_STORED } from "./end-runs.ts";
import { ADMIT, addDueTime, type DueTimes } from "./run-queues.ts";
import type { RunRow } from "./run-rows.ts";

/** The number of queued, held and running runs of each lane, including those of this batch. */
export type LaneOccupancy = Map<string, number>;

const keyOf = ({ tenant, limit }: NewRun): string => JSON.stringify([tenant, limit?.lane]);

const IN_LANE = "FROM runs WHERE tenant_id = ? AND lane = ? AND finished_at IS NULL AND status";

/**
 * False if the lane has reached its limit and `whenFull` is `skip`. Otherwise the run occupies its
 * lane.
 */
export function* admitsRun(occupancy: LaneOccupancy, run: NewRun): Verb<boolean> {
  const { tenant, limit } = run;
  if (limit?.whenFull !== "skip") return true;
  const key = keyOf(run);
  const occupied =
    occupancy.get(key) ??
    (yield* countInLane("IN ('queued', 'held', 'running')", tenant, limit.lane, limit.max));
  if (occupied < limit.max) occupancy.set(key, occupied + 1);
  return occupied < limit.max;
}

/** Counts the runs of a lane with these statuses, up to `max`. */
function* countInLane(statuses: string, tenant: string, lane: string, max: number): Verb<number> {
  return (yield* query(`SELECT id ${IN_LANE} ${statuses} LIMIT ?`, [tenant, lane, max])).length;
}

/**
 * Whether the lane is below its limit. Runs that are queued for a later time do not count. The
 * tenant's queue must be locked, so that no worker claims runs in the meantime.
 */
export function* canStartNow({ tenant, limit }: NewRun, now: number): Verb<boolean> {
  if (!limit) return true;
  const ahead = yield* query(
    `SELECT id ${IN_LANE} IN ('queued', 'held', 'running') AND (status <> 'queued' OR due_at <= ?) LIMIT ?`,
    [tenant, limit.lane, now, limit.max],
  );
  return ahead.length < limit.max;
}

type WaitingRun = Pick<
  RunRow,
  | "id"
  | "tenant_id"
  | "app"
  | "flow_id"
  | "status"
  | "due_at"
  | "claims"
  | "started_at"
  | "event_id"
  | "gathered_count"
>;

/**
 * In `replace` lanes, cancels the runs that wait when a new run arrives, unless they have started
 * before or the lane has capacity for them. Returns the cancelled runs; the caller counts their bytes.
 */
export function* replaceWaiting(
  dialect: Dialect,
  newRuns: readonly NewRun[],
  dueTimes: DueTimes,
): Verb<WaitingRun[]> {
  const newest = new Map<string, NewRun>();
  for (const run of newRuns) if (run.limit?.whenFull === "replace") newest.set(keyOf(run), run);
  const replaced: WaitingRun[] = [];
  for (const { id, tenant, limit, at } of newest.values()) {
    if (!limit) continue;
    const { lane, max } = limit;
    // Locked before the running runs are counted: a worker that is claiming one of these commits first.
    const waiting = yield* query<WaitingRun>(
      `SELECT id, tenant_id, app, flow_id, status, due_at, claims, started_at, event_id, gathered_count ${IN_LANE} IN ('queued', 'held') ` +
        `AND id <> ? ORDER BY id${dialect.forUpdate}`,
      [tenant, lane, id],
    );
    waiting.sort((a, b) => a.due_at - b.due_at || (a.id < b.id ? -1 : 1));
    const capacity = max - (yield* countInLane("= 'running'", tenant, lane, max));
    const superseded = waiting.slice(capacity).filter(({ claims }) => claims === 0);
    const error = JSON.stringify(replacedBy(id));
    for (const { list, params } of inLists(superseded.map(idOf), dialect, 3))
      yield* execute(
        `UPDATE runs SET status = 'cancelled', error = ?, finished_at = ?, ${SET_STORED} WHERE id IN ${list}`,
        [error, at, error.length, ...params],
      );
    for (const run of superseded) yield* notifyEnded(run, "cancelled", at);
    replaced.push(...superseded);

    // Held runs that were locked here are admitted here: a run that ends concurrently skips locked rows.
    const held = waiting.filter((run) => run.status === "held" && !superseded.includes(run));
    for (const { list, params } of inLists(held.map(idOf), dialect, 0))
      yield* execute(`UPDATE runs SET ${ADMIT} WHERE id IN ${list}`, params);
    for (const run of held) addDueTime(dueTimes, run, at);
  }
  return replaced;
}

const idOf = ({ id }: { id: string }) => id;

const replacedBy = (run: string): RunError => ({
  code: "superseded",
  message: `A newer run replaced it while it waited for its concurrency limit: ${run}.`,
  details: { run },
});
