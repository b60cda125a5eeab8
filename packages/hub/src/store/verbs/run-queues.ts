/**
 * Each tenant with runs has a row in `queues`, with the time when its next run is due. A claim serves
 * the tenants round robin, so that a tenant with a million runs does not delay the others.
 *
 * Lock order in all transactions: apps, schedules, tenants, runs, queues, events; within each table by
 * id. Only a claim locks queues before runs, and it skips locked runs. So a transaction that has locked
 * a queue never waits for a run, and no deadlock is possible.
 */
import { type Dialect, execute, first, insert, notify, type Verb } from "../sql.ts";
import type { RunRow } from "./run-rows.ts";

/** The time at which the queue of each tenant becomes due. */
export type DueTimes = Map<string, number>;

export function addDueTime(dueTimes: DueTimes, tenant: string, at: number): void {
  dueTimes.set(tenant, Math.min(dueTimes.get(tenant) ?? at, at));
}

const compareIds = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** Makes the tenants' queues due at these times, unless they are due earlier, and notifies the workers. */
export function* saveDueTimes(dueTimes: DueTimes): Verb<void> {
  if (dueTimes.size === 0) return;
  yield* insert(
    "queues",
    ["tenant_id", "due_at"],
    [...dueTimes].sort(([a], [b]) => compareIds(a, b)),
    "ON CONFLICT (tenant_id) DO UPDATE SET " +
      "due_at = CASE WHEN queues.due_at < excluded.due_at THEN queues.due_at ELSE excluded.due_at END",
  );
  yield* notify({ topic: "runs", due: Math.min(...dueTimes.values()) });
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

type InLane = Pick<RunRow, "tenant_id" | "lane" | "lane_limit">;

export const isLimited = ({ lane, lane_limit }: InLane): boolean =>
  lane !== null && lane_limit !== null;

const HOUR_MS = 3_600_000;

/**
 * Queues a held run. Its `due_at` is moved ahead of those of all queued runs, because the run has already
 * waited, and a caller may be waiting for it. A run that has started before keeps its `due_at`, from which
 * its deadline is computed.
 */
export const ADMIT = `status = 'queued', due_at = CASE WHEN claims = 0 THEN due_at - ${HOUR_MS} ELSE due_at END`;

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
  const next = yield* first(
    `UPDATE runs SET ${ADMIT} WHERE id = (SELECT id FROM runs ` +
      "WHERE tenant_id = ? AND lane = ? AND status = 'held' AND finished_at IS NULL " +
      `ORDER BY due_at, id LIMIT 1${dialect.skipLocked}) RETURNING id`,
    [released.tenant_id, released.lane],
  );
  if (next) addDueTime(dueTimes, released.tenant_id, now);
}

/**
 * After a claim, makes the queue due when the tenant's next run is due, but not before `now`. So the queues
 * of other tenants that are due come first.
 */
export function* updateDueTime(tenant: string, now: number): Verb<void> {
  const next = yield* first<{ due_at: number | null }>(
    "SELECT min(due_at) AS due_at FROM runs WHERE tenant_id = ? AND status IN ('queued', 'waiting')",
    [tenant],
  );
  const due = next?.due_at ?? null;
  yield* execute("UPDATE queues SET due_at = ? WHERE tenant_id = ?", [
    due === null ? null : Math.max(due, now),
    tenant,
  ]);
}
