/**
 * Each tenant with runs has a row in `queues`: when its next turn comes. Whoever claims serves the
 * tenants by turns, so that one with a million runs does not keep another one waiting.
 *
 * Locks, wherever several are taken: apps, tenants, runs, queues, events; within each in the order of
 * their ids. Whoever claims goes from queues to runs, and so passes over what is locked; whoever
 * holds a queue never waits for a run. That way no two transactions wait for each other.
 */
import { type Dialect, first, insert, notify, query, type Verb } from "../sql.ts";
import type { RunRow } from "./run-rows.ts";

/** When each tenant wants its turn. */
export type Turns = Map<string, number>;

export function wantTurn(turns: Turns, tenant: string, at: number): void {
  turns.set(tenant, Math.min(turns.get(tenant) ?? at, at));
}

const inOrder = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** A turn comes as early as the earliest that wants one. */
export function* enqueue(turns: Turns): Verb<void> {
  if (turns.size === 0) return;
  yield* insert(
    "queues",
    ["tenant_id", "due_at"],
    [...turns].sort(([a], [b]) => inOrder(a, b)),
    "ON CONFLICT (tenant_id) DO UPDATE SET " +
      "due_at = CASE WHEN queues.due_at < excluded.due_at THEN queues.due_at ELSE excluded.due_at END",
  );
  yield* notify({ topic: "runs", due: Math.min(...turns.values()) });
}

/** Keeps others from claiming runs of these tenants, and from seeing half of a change in a lane. */
export function* lockQueues(dialect: Dialect, tenants: Iterable<string>): Verb<void> {
  if (!dialect.forUpdate) return;
  yield* insert(
    "queues",
    ["tenant_id"],
    [...new Set(tenants)].sort(inOrder).map((tenant) => [tenant]),
    "ON CONFLICT (tenant_id) DO UPDATE SET tenant_id = excluded.tenant_id",
  );
}

type InLane = Pick<RunRow, "tenant_id" | "lane" | "lane_limit">;

export const isLimited = ({ lane, lane_limit }: InLane): boolean =>
  lane !== null && lane_limit !== null;

const HOUR_MS = 3_600_000;

/**
 * It has waited for its turn: now it comes before all that is queued, which may be a long list that
 * somebody who waits for it is not to wait for too. One that has begun before keeps its time, by which
 * its deadline is set.
 */
export const LET_IN = `status = 'queued', due_at = CASE WHEN claims = 0 THEN due_at - ${HOUR_MS} ELSE due_at END`;

/**
 * A run has left its lane: the first of those that were held may be claimed. The tenant's queue must
 * be locked, or a run could be held just now for the sake of the one that leaves, and be forgotten.
 * Letting in too many does no harm: whoever claims counts again.
 */
export function* letIn(dialect: Dialect, left: InLane, now: number, turns: Turns): Verb<void> {
  if (!isLimited(left)) return;
  const next = yield* first(
    `UPDATE runs SET ${LET_IN} WHERE id = (SELECT id FROM runs ` +
      "WHERE tenant_id = ? AND lane = ? AND status = 'held' AND finished_at IS NULL " +
      `ORDER BY due_at, id LIMIT 1${dialect.skipLocked}) RETURNING id`,
    [left.tenant_id, left.lane],
  );
  if (next) wantTurn(turns, left.tenant_id, now);
}

/** After it was served, a tenant with more to do goes behind the others. */
export function* endTurn(tenant: string, now: number): Verb<void> {
  const next = yield* first<{ due_at: number | null }>(
    "SELECT min(due_at) AS due_at FROM runs WHERE tenant_id = ? AND status IN ('queued', 'waiting')",
    [tenant],
  );
  const due = next?.due_at ?? null;
  yield* query("UPDATE queues SET due_at = ? WHERE tenant_id = ?", [
    due === null ? null : Math.max(due, now),
    tenant,
  ]);
}
