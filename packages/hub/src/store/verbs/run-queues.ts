/**
 * Each tenant with runs has a row in `queues`, with the time when its next run is due. A claim serves
 * the tenants round robin, so that a tenant with a million runs does not delay the others.
 *
 * Lock order in all transactions: apps, schedules, tenants, runs, queues, events; within each table by
 * id. Only a claim goes from queues to runs, and it skips locked rows. A transaction that holds a queue never
 * waits for a run. Therefore no deadlock is possible.
 */
import { type Dialect, execute, first, insert, notify, type Verb } from "../sql.ts";
import type { RunRow } from "./run-rows.ts";

/** The time at which each tenant's queue has to be served. */
export type Schedule = Map<string, number>;

export function scheduleTenant(schedule: Schedule, tenant: string, at: number): void {
  schedule.set(tenant, Math.min(schedule.get(tenant) ?? at, at));
}

const compareIds = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** Sets the due times of the tenants' queues, unless they are due earlier, and notifies the workers. */
export function* saveSchedule(schedule: Schedule): Verb<void> {
  if (schedule.size === 0) return;
  yield* insert(
    "queues",
    ["tenant_id", "due_at"],
    [...schedule].sort(([a], [b]) => compareIds(a, b)),
    "ON CONFLICT (tenant_id) DO UPDATE SET " +
      "due_at = CASE WHEN queues.due_at < excluded.due_at THEN queues.due_at ELSE excluded.due_at END",
  );
  yield* notify({ topic: "runs", due: Math.min(...schedule.values()) });
}

/** Until the commit, no other transaction can claim runs of these tenants or change their lanes. */
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
 * Queues a held run ahead of all queued runs: it has waited already, and a caller may be waiting for
 * it. A run that has started before keeps its `due_at`, from which its deadline is computed.
 */
export const ADMIT = `status = 'queued', due_at = CASE WHEN claims = 0 THEN due_at - ${HOUR_MS} ELSE due_at END`;

/**
 * Queues the first held run of the lane that `released` leaves. The tenant's queue must be locked:
 * otherwise a concurrent claim could hold another run because of `released`, and no later run would
 * admit it. Admitting too many runs is harmless, since a claim counts again.
 */
export function* admitNext(
  dialect: Dialect,
  released: InLane,
  now: number,
  schedule: Schedule,
): Verb<void> {
  if (!isLimited(released)) return;
  const next = yield* first(
    `UPDATE runs SET ${ADMIT} WHERE id = (SELECT id FROM runs ` +
      "WHERE tenant_id = ? AND lane = ? AND status = 'held' AND finished_at IS NULL " +
      `ORDER BY due_at, id LIMIT 1${dialect.skipLocked}) RETURNING id`,
    [released.tenant_id, released.lane],
  );
  if (next) scheduleTenant(schedule, released.tenant_id, now);
}

/** After a claim: moves the tenant behind the others that are due, to the time of its next run. */
export function* rescheduleTenant(tenant: string, now: number): Verb<void> {
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
