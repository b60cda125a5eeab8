/**
 * What becomes of runs whose lane is full. Asked by whoever holds the rows of the tenants, so that no
 * two count a lane at the same time: what is under way may only become less meanwhile.
 */
import type { NewRun, RunError } from "../run-store.ts";
import { type Dialect, inLists, notify, query, type Verb } from "../sql.ts";
import { LET_IN, type Turns, wantTurn } from "./run-queues.ts";
import type { RunRow } from "./run-rows.ts";

/** How many runs of each lane are under way or wait for their turn, with those of this batch. */
export type Crowds = Map<string, number>;

const keyOf = ({ tenant, limit }: NewRun): string => JSON.stringify([tenant, limit?.lane]);

const IN_LANE = "FROM runs WHERE tenant_id = ? AND lane = ? AND finished_at IS NULL AND status";

/** Of those that would not wait; the others always come in. */
export function* comesIn(crowds: Crowds, run: NewRun): Verb<boolean> {
  const { tenant, limit } = run;
  if (limit?.whenFull !== "skip") return true;
  const key = keyOf(run);
  const crowd =
    crowds.get(key) ??
    (yield* count("IN ('queued', 'held', 'running')", tenant, limit.lane, limit.most));
  if (crowd < limit.most) crowds.set(key, crowd + 1);
  return crowd < limit.most;
}

/** More than that is as much as that. */
function* count(statuses: string, tenant: string, lane: string, most: number): Verb<number> {
  return (yield* query(`SELECT id ${IN_LANE} ${statuses} LIMIT ?`, [tenant, lane, most])).length;
}

/**
 * Whether a run could begin now, and take no other's place. Nobody may claim meanwhile: the tenant's
 * queue must be locked. What is queued for later does not want its place yet.
 */
export function* hasRoom({ tenant, limit }: NewRun, now: number): Verb<boolean> {
  if (!limit) return true;
  const before = yield* query(
    `SELECT id ${IN_LANE} IN ('queued', 'held', 'running') AND (status <> 'queued' OR due_at <= ?) LIMIT ?`,
    [tenant, limit.lane, now, limit.most],
  );
  return before.length < limit.most;
}

type Waiting = Pick<RunRow, "id" | "status" | "due_at" | "claims" | "event_id" | "gathered_count">;

/**
 * In lanes that keep only the newest, `fresh` runs take the place of those that wait; what has begun
 * before, or is about to begin, stays. Answers with those that are over.
 */
export function* replaceWaiting(
  dialect: Dialect,
  fresh: readonly NewRun[],
  turns: Turns,
): Verb<Waiting[]> {
  const newest = new Map<string, NewRun>();
  for (const run of fresh) if (run.limit?.whenFull === "replace") newest.set(keyOf(run), run);
  const replaced: Waiting[] = [];
  for (const { id, tenant, limit, at } of newest.values()) {
    if (!limit) continue;
    const { lane, most } = limit;
    // Locked first: whoever is about to begin with one of them has then done so, and it is counted.
    const waiting = yield* query<Waiting>(
      `SELECT id, status, due_at, claims, event_id, gathered_count ${IN_LANE} IN ('queued', 'held') ` +
        `AND id <> ? ORDER BY id${dialect.forUpdate}`,
      [tenant, lane, id],
    );
    waiting.sort((a, b) => (a.due_at ?? 0) - (b.due_at ?? 0) || (a.id < b.id ? -1 : 1));
    const room = most - (yield* count("= 'running'", tenant, lane, most));
    const over = waiting.slice(room).filter(({ claims }) => claims === 0);
    for (const { list, params } of inLists(over.map(idOf), dialect, 2))
      yield* query(
        `UPDATE runs SET status = 'cancelled', error = ?, finished_at = ? WHERE id IN ${list}`,
        [JSON.stringify(replacedBy(id)), at, ...params],
      );
    for (const run of over) yield* notify({ topic: "run_ended", tenant, run: run.id });
    replaced.push(...over);

    // One that leaves the lane just now could not let these in, as they were locked.
    const held = waiting.filter((run) => run.status === "held" && !over.includes(run));
    for (const { list, params } of inLists(held.map(idOf), dialect, 0))
      yield* query(`UPDATE runs SET ${LET_IN} WHERE id IN ${list}`, params);
    if (held.length > 0) wantTurn(turns, tenant, at);
  }
  return replaced;
}

const idOf = ({ id }: { id: string }) => id;

const replacedBy = (run: string): RunError => ({
  code: "superseded",
  message: `A newer run took its place while it waited for its turn: ${run}.`,
  details: { run },
});
