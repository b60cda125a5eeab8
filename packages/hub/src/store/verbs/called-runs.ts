/** Runs that wait for others: what comes of those, and what becomes of them when nobody waits. */
import { openStepError } from "../run-store.ts";
import { type Dialect, inLists, notify, query, type Verb } from "../sql.ts";
import { closeSteps } from "./close-steps.ts";
import type { RunRow } from "./run-rows.ts";

/**
 * Something came of runs that these have called: so it has of them, and of whoever called them.
 * Answers with all of these. One that is locked just now is left out rather than waited for: whoever
 * tells of a run holds it, and locks go from callers to called.
 */
export function* creditCallers(dialect: Dialect, callers: Iterable<string>): Verb<string[]> {
  const credited: string[] = [];
  const idle: string[] = [];
  for (let next = [...new Set(callers)]; next.length > 0; ) {
    const found = yield* idleClaims(dialect, next);
    credited.push(...next);
    for (const { id, idle_claims } of found) if (idle_claims > 1) idle.push(id);
    next = [...new Set(found.flatMap(({ parent_run }) => parent_run ?? []))];
  }
  for (const { list, params } of inLists(idle, dialect, 0))
    yield* query(
      `WITH free AS MATERIALIZED (SELECT id FROM runs WHERE id IN ${list}${dialect.skipLocked}) ` +
        "UPDATE runs SET idle_claims = 0 WHERE id IN (SELECT id FROM free)",
      params,
    );
  return credited;
}

type Idle = Pick<RunRow, "id" | "parent_run" | "idle_claims">;

function* idleClaims(dialect: Dialect, runs: readonly string[]): Verb<Idle[]> {
  const found: Idle[] = [];
  for (const { list, params } of inLists(runs, dialect, 0))
    found.push(
      ...(yield* query<Idle>(
        `SELECT id, parent_run, idle_claims FROM runs WHERE id IN ${list}`,
        params,
      )),
    );
  return found;
}

/**
 * The callers are over, so nobody waits for what they called: it ends, or whoever is at work on it is
 * asked to end it. Called runs have no lanes, and no event shows them. Not for whoever holds a queue.
 */
export function* cancelCalled(
  dialect: Dialect,
  callers: readonly string[],
  at: number,
): Verb<void> {
  const over: string[] = [];
  for (const { list, params } of inLists(callers, dialect, 0)) {
    const called = yield* query<Pick<RunRow, "id" | "tenant_id" | "status">>(
      `SELECT id, tenant_id, status FROM runs WHERE parent_run IN ${list} AND finished_at IS NULL ` +
        `ORDER BY id${dialect.forUpdate}`,
      params,
    );
    for (const { id, tenant_id: tenant, status } of called) {
      if (status === "running") {
        yield* query("UPDATE runs SET cancel_asked = 1 WHERE id = ?", [id]);
        yield* notify({ topic: "run_cancel", run: id });
        continue;
      }
      yield* query(
        "UPDATE runs SET status = 'cancelled', cancel_asked = 1, finished_at = ? WHERE id = ?",
        [at, id],
      );
      yield* closeSteps(id, at, (node) => openStepError("cancelled", node));
      yield* notify({ topic: "run_ended", tenant, run: id });
      over.push(id);
    }
  }
  if (over.length > 0) yield* cancelCalled(dialect, over, at);
}
