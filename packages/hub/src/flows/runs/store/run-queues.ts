/**
 * Each tenant with queued runs has a row in `queues`, each of its apps one in `app_queues`, and each flow one
 * in `flow_queues`, with the time when the next run is due. A claim serves the rows of each table round
 * robin, so that a tenant, app or flow with a million runs does not delay the others.
 *
 * Lock order in all transactions: apps, schedules, tenants, runs, queues, events, run_usage; within each table by
 * id. Only a claim locks queues before runs, and it skips locked runs. So a transaction that has locked
 * a queue never waits for a run, and no deadlock is possible. The row of a tenant in `queues` is the lock of
 * its rows in the other two tables: a transaction that changes them has written it first.
 *
 * A run whose lane has reached its limit is held, until a run of the lane ends. The functions that apply
 * `WhenFull` to new runs require that the rows of their tenants are locked, so that no other transaction adds
 * runs.
 */
import {
  type Dialect,
  execute,
  first,
  inLists,
  insert,
  notify,
  query,
  type Value,
  type Verb,
} from "../../../kernel/store/sql.ts";
import type { NewRun, RunError } from "../model.ts";
import { notifyEnded, SET_STORED } from "./end-runs.ts";
import type { RunRow } from "./run-rows.ts";

/** The queue of a run. */
export type RunQueue = Pick<RunRow, "tenant_id" | "app" | "flow_id">;

/** The time at which each queue becomes due. */
export type DueTimes = Map<string, { queue: RunQueue; at: number }>;

export function addDueTime(
  dueTimes: DueTimes,
  { tenant_id, app, flow_id }: RunQueue,
  at: number,
): void {
  const key = JSON.stringify([tenant_id, app, flow_id]);
  const known = dueTimes.get(key);
  if (!known) dueTimes.set(key, { queue: { tenant_id, app, flow_id }, at });
  else if (at < known.at) known.at = at;
}

const compareIds = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** The tables of the queues, with their keys. */
const TABLES = [
  { table: "queues", key: ["tenant_id"] },
  { table: "app_queues", key: ["tenant_id", "app"] },
  { table: "flow_queues", key: ["tenant_id", "app", "flow_id"] },
] as const;

const IF_EARLIER = TABLES.map(
  ({ table, key }) =>
    `ON CONFLICT (${key.join(", ")}) DO UPDATE SET due_at = excluded.due_at ` +
    `WHERE ${table}.due_at IS NULL OR ${table}.due_at > excluded.due_at`,
);

/** Makes the queues due at these times, unless they are due earlier, and notifies the workers. */
export function* saveDueTimes(dueTimes: DueTimes): Verb<void> {
  if (dueTimes.size === 0) return;
  const sorted = [...dueTimes].sort(([a], [b]) => compareIds(a, b)).map(([, due]) => due);
  for (const [index, { table, key }] of TABLES.entries()) {
    const earliest = new Map<string, Value[]>();
    for (const { queue, at } of sorted) {
      const values = key.map((column) => queue[column]);
      const id = JSON.stringify(values);
      const row = earliest.get(id);
      if (!row) earliest.set(id, [...values, at]);
      else row[key.length] = Math.min(row[key.length] as number, at);
    }
    const rows = [...earliest.values()];
    yield* insert(table, [...key, "due_at"], rows, IF_EARLIER[index]);
  }
  yield* notify({ topic: "runs", due: Math.min(...sorted.map(({ at }) => at)) });
}

/**
 * Prevents other transactions from claiming runs of these tenants or changing their lanes, until the
 * commit.
 */
export function* lockQueues(dialect: Dialect, tenants: Iterable<string>): Verb<void> {
  if (!dialect.forUpdate) return;
  yield* insert(
    "queues",
    ["tenant_id"],
    [...new Set(tenants)].sort(compareIds).map((tenant) => [tenant]),
    "ON CONFLICT (tenant_id) DO UPDATE SET tenant_id = excluded.tenant_id",
  );
}

/**
 * After a claim, makes the queue of a flow due when its next run is due, but not before `now`. So the queues
 * that were not served come first. A queue without runs is removed.
 */
export function* updateFlowQueue({ tenant_id, app, flow_id }: RunQueue, now: number): Verb<void> {
  const key = [tenant_id, app, flow_id];
  const isKey = "tenant_id = ? AND app = ? AND flow_id = ?";
  const next = nextOf(`runs WHERE ${isKey} AND status IN ('queued', 'waiting')`);
  yield* execute(`UPDATE flow_queues SET due_at = ${next} WHERE ${isKey}`, [
    now,
    now,
    ...key,
    ...key,
  ]);
  yield* execute(`DELETE FROM flow_queues WHERE ${isKey} AND due_at IS NULL`, key);
}

/** The queues of the app's flows must be up to date. */
export function* updateAppQueue(
  { tenant_id, app }: Pick<RunQueue, "tenant_id" | "app">,
  now: number,
): Verb<void> {
  const key = [tenant_id, app];
  const isKey = "tenant_id = ? AND app = ?";
  const next = nextOf(`flow_queues WHERE ${isKey}`);
  yield* execute(`UPDATE app_queues SET due_at = ${next} WHERE ${isKey}`, [
    now,
    now,
    ...key,
    ...key,
  ]);
  yield* execute(`DELETE FROM app_queues WHERE ${isKey} AND due_at IS NULL`, key);
}

/** The queues of the tenant's apps must be up to date. The row stays, because it is a lock. */
export function* updateTenantQueue(tenant: string, now: number): Verb<void> {
  yield* execute(
    `UPDATE queues SET due_at = ${nextOf("app_queues WHERE tenant_id = ?")} WHERE tenant_id = ?`,
    [now, now, tenant, tenant],
  );
}

/** The earliest due time, but not before the time of the first two parameters. */
const nextOf = (source: string): string =>
  `(SELECT CASE WHEN min(due_at) < ? THEN ? ELSE min(due_at) END FROM ${source})`;

type InLane = Pick<RunRow, "tenant_id" | "lane" | "lane_limit">;

export const isLimited = ({ lane, lane_limit }: InLane): boolean =>
  lane !== null && lane_limit !== null;

const HOUR_MS = 3_600_000;

/**
 * Queues a held run. Its `due_at` is moved ahead of those of all queued runs, because the run has already
 * waited, and a caller may be waiting for it. A run that has started before keeps its `due_at`, from which
 * its deadline is computed.
 */
const ADMIT = `status = 'queued', due_at = CASE WHEN claims = 0 THEN due_at - ${HOUR_MS} ELSE due_at END`;

/**
 * Queues the first held run of a lane, because the run `released` no longer occupies it. The tenant's
 * queue must be locked: otherwise a concurrent claim could still count `released` and hold another run,
 * which no later run would admit. Admitting too many runs is harmless, since a claim counts again.
 */
export function* admitNext(
  dialect: Dialect,
  released: InLane,
  now: number,
  dueTimes: DueTimes,
): Verb<void> {
  if (!isLimited(released)) return;
  const next = yield* first<RunQueue>(
    `UPDATE runs SET ${ADMIT} WHERE id = (SELECT id FROM runs ` +
      "WHERE tenant_id = ? AND lane = ? AND status = 'held' AND finished_at IS NULL " +
      `ORDER BY due_at, id LIMIT 1${dialect.skipLocked}) RETURNING tenant_id, app, flow_id`,
    [released.tenant_id, released.lane],
  );
  if (next) addDueTime(dueTimes, next, now);
}

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
