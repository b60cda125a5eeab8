/** Who works on which run, and until when. */

import type { ClaimedRun, RunLease, Step } from "../run-store.ts";
import { type Dialect, first, inLists, notify, query, type Verb } from "../sql.ts";
import type { StoreCache } from "../store-cache.ts";
import { cancelCalled, creditCallers } from "./called-runs.ts";
import { closeSteps } from "./close-steps.ts";
import { tellEvents } from "./run-events.ts";
import {
  endTurn,
  enqueue,
  isLimited,
  letIn,
  lockQueues,
  type Turns,
  wantTurn,
} from "./run-queues.ts";
import { RUN, type RunRow, STEP, toRun, toStep } from "./run-rows.ts";

/** How often one claim looks for more where runs turned out to be held. */
const LOOKS = 5;

/** How often a run is taken up while nothing comes of it: it may be what its workers die of. */
const MOST_IDLE_CLAIMS = 10;

export function* claimRuns(
  dialect: Dialect,
  cache: StoreCache,
  lease: RunLease,
  limit: number,
): Verb<ClaimedRun[]> {
  const lost = yield* takeBack(dialect, lease.now, limit);
  const due = yield* query<{ tenant_id: string }>(
    `SELECT tenant_id FROM queues WHERE due_at <= ? ORDER BY due_at LIMIT ?${dialect.skipLocked}`,
    [lease.now, limit],
  );
  const tenants = due.map(({ tenant_id }) => tenant_id);
  const taken: RunRow[] = [];
  // Those that took all of their share may have more, for room that others left.
  for (let eager = tenants; eager.length > 0 && taken.length < limit; ) {
    const more: string[] = [];
    for (const [nth, tenant] of eager.entries()) {
      const share = Math.ceil((limit - taken.length) / (eager.length - nth));
      const rows = yield* take(dialect, tenant, lease, share);
      taken.push(...rows);
      if (share > 0 && rows.length === share) more.push(tenant);
    }
    eager = more;
  }
  for (const tenant of tenants) yield* endTurn(tenant, lease.now);
  yield* tellEvents(dialect, [...lost, ...taken]);
  return yield* equip(dialect, cache, taken);
}

type Lost = Pick<
  RunRow,
  | "id"
  | "tenant_id"
  | "parent_run"
  | "event_id"
  | "gathered_count"
  | "lane"
  | "lane_limit"
  | "idle_claims"
>;

/** Runs of workers that have died go back to where they came from, but not for ever. */
function* takeBack(dialect: Dialect, now: number, limit: number): Verb<Lost[]> {
  const lost = yield* query<Lost>(
    "WITH lost AS MATERIALIZED (SELECT id FROM runs WHERE status = 'running' AND lease_until <= ? " +
      `ORDER BY lease_until LIMIT ?${dialect.skipLocked}) ` +
      "UPDATE runs SET status = 'queued', worker = NULL WHERE id IN (SELECT id FROM lost) " +
      "RETURNING id, tenant_id, parent_run, event_id, gathered_count, lane, lane_limit, idle_claims",
    [now, limit],
  );
  const turns: Turns = new Map();
  for (const { tenant_id } of lost) wantTurn(turns, tenant_id, now);
  const hopeless = yield* findHopeless(dialect, lost);
  if (hopeless.length > 0) {
    const ids = hopeless.map(({ id }) => id);
    yield* cancelCalled(dialect, ids, now);
    yield* lockQueues(dialect, turns.keys());
  }
  for (const run of hopeless) yield* giveUp(dialect, run, now, turns);
  yield* enqueue(turns);
  return lost;
}

/** Where a run and its caller have died as often, it is of the run: its caller hears of its end. */
function* findHopeless(dialect: Dialect, lost: readonly Lost[]): Verb<Lost[]> {
  const hopeless = lost.filter(({ idle_claims }) => idle_claims >= MOST_IDLE_CLAIMS);
  const callers = hopeless.flatMap(({ parent_run }) => parent_run ?? []);
  if (callers.length === 0) return hopeless;
  const credited = new Set(yield* creditCallers(dialect, callers));
  return hopeless.filter(({ id }) => !credited.has(id));
}

function* giveUp(dialect: Dialect, run: Lost, now: number, turns: Turns): Verb<void> {
  const error = {
    code: "gave_up",
    message:
      `The run was taken up ${MOST_IDLE_CLAIMS} times, and each time its worker was lost before ` +
      "anything came of it.",
  };
  const open = yield* closeSteps(run.id, now, (node_id) => ({ ...error, node_id }));
  yield* query("UPDATE runs SET status = 'failed', error = ?, finished_at = ? WHERE id = ?", [
    JSON.stringify(open.length === 1 ? { ...error, node_id: open[0] } : error),
    now,
    run.id,
  ]);
  yield* letIn(dialect, run, now, turns);
  yield* notify({ topic: "run_ended", tenant: run.tenant_id, run: run.id });
}

/** The oldest that are due; those whose lane is full are held, and let in when one of it leaves. */
function* take(
  dialect: Dialect,
  tenant: string,
  { worker, now, until }: RunLease,
  limit: number,
): Verb<RunRow[]> {
  const taken: RunRow[] = [];
  for (let look = 0; look < LOOKS && taken.length < limit; look += 1) {
    const wanted = limit - taken.length;
    const due = yield* query<Pick<RunRow, "id" | "tenant_id" | "lane" | "lane_limit">>(
      "SELECT id, tenant_id, lane, lane_limit FROM runs WHERE tenant_id = ? AND status IN ('queued', 'waiting') " +
        `AND due_at <= ? ORDER BY due_at, id LIMIT ?${dialect.skipLocked}`,
      [tenant, now, wanted],
    );
    const lanes = due.flatMap((run) => (isLimited(run) ? [run.lane as string] : []));
    const busy = yield* countBusy(dialect, tenant, lanes);
    const free: string[] = [];
    const held: string[] = [];
    for (const { id, lane, lane_limit } of due) {
      const under = busy.get(lane) ?? 0;
      if (lane_limit !== null && under >= lane_limit) held.push(id);
      else {
        free.push(id);
        busy.set(lane, under + 1);
      }
    }
    for (const { list, params } of inLists(held, dialect, 0))
      yield* query(`UPDATE runs SET status = 'held' WHERE id IN ${list}`, params);
    for (const { list, params } of inLists(free, dialect, 3))
      taken.push(
        ...(yield* query<RunRow>(
          "UPDATE runs SET status = 'running', worker = ?, lease_until = ?, claims = claims + 1, " +
            `idle_claims = idle_claims + 1, started_at = coalesce(started_at, ?) WHERE id IN ${list} RETURNING ${RUN}`,
          [worker, until, now, ...params],
        )),
      );
    if (due.length < wanted) break;
  }
  return taken.sort((a, b) => (a.due_at ?? 0) - (b.due_at ?? 0) || (a.id < b.id ? -1 : 1));
}

/** How many runs of each lane are under way. */
function* countBusy(
  dialect: Dialect,
  tenant: string,
  lanes: readonly string[],
): Verb<Map<string | null, number>> {
  const busy = new Map<string | null, number>();
  for (const { list, params } of inLists([...new Set(lanes)], dialect, 1))
    for (const { lane, count } of yield* query<{ lane: string; count: number }>(
      "SELECT lane, count(*) AS count FROM runs WHERE tenant_id = ? AND status = 'running' AND finished_at IS NULL " +
        `AND lane IN ${list} GROUP BY lane`,
      [tenant, ...params],
    ))
      busy.set(lane, count);
  return busy;
}

/** The graph of each run's version, and what was done of it before. */
export function* equip(
  dialect: Dialect,
  cache: StoreCache,
  rows: readonly RunRow[],
): Verb<ClaimedRun[]> {
  const begun = rows.flatMap(({ id, claims }) => (claims > 1 ? [id] : []));
  const steps = yield* stepsOf(dialect, begun);
  const equipped: ClaimedRun[] = [];
  for (const row of rows)
    equipped.push({
      run: toRun(row),
      graph: yield* graphOf(cache, row),
      steps: steps.get(row.id) ?? [],
    });
  return equipped;
}

function* graphOf(
  { graphs }: StoreCache,
  { flow_id, version }: Pick<RunRow, "flow_id" | "version">,
): Verb<ClaimedRun["graph"]> {
  const key = `${flow_id}:${version}`;
  const known = graphs.get(key);
  // A flow that was purged may come back under its id, and count its versions anew.
  const found = yield* first<{ created_at: number; graph: string | null }>(
    "SELECT created_at, CASE WHEN created_at = ? THEN NULL ELSE graph END AS graph " +
      "FROM flow_versions WHERE flow_id = ? AND version = ?",
    [known?.created_at ?? -1, flow_id, version],
  );
  if (!found) return { nodes: [], edges: [] };
  if (found.graph === null) return (known as NonNullable<typeof known>).graph;
  const graph: ClaimedRun["graph"] = JSON.parse(found.graph);
  graphs.set(key, { graph, created_at: found.created_at, size: found.graph.length });
  return graph;
}

export function* stepsOf(
  dialect: Dialect,
  runs: readonly string[],
  columns = STEP,
): Verb<Map<string, Step[]>> {
  const steps = new Map<string, Step[]>();
  for (const { list, params } of inLists(runs, dialect, 0))
    for (const { run_id, ...row } of yield* query<
      { run_id: string } & Parameters<typeof toStep>[0]
    >(`SELECT run_id, ${columns} FROM steps WHERE run_id IN ${list} ORDER BY nth`, params)) {
      const own = steps.get(run_id) ?? [];
      own.push(toStep(row));
      steps.set(run_id, own);
    }
  return steps;
}

export function* renewRuns(
  dialect: Dialect,
  { worker, now, until }: RunLease,
  runs: readonly string[],
): Verb<{ cancel: string[] }> {
  const cancel: string[] = [];
  for (const { list, params } of inLists([...runs].sort(), dialect, 3))
    for (const { id, cancel_asked } of yield* query<{ id: string; cancel_asked: number }>(
      `WITH held AS MATERIALIZED (SELECT id FROM runs WHERE id IN ${list} AND worker = ? ` +
        `AND status = 'running' AND lease_until > ? ORDER BY id${dialect.forUpdate}) ` +
        "UPDATE runs SET lease_until = ? WHERE id IN (SELECT id FROM held) RETURNING id, cancel_asked",
      [...params, worker, now, until],
    ))
      if (cancel_asked === 1) cancel.push(id);
  return { cancel };
}

export function* releaseRuns(dialect: Dialect, worker: string, now: number): Verb<void> {
  const rows = yield* query<RunRow>(
    "WITH held AS MATERIALIZED (SELECT id FROM runs WHERE worker = ? AND status = 'running' " +
      `ORDER BY id${dialect.forUpdate}) ` +
      // Who gives a run back has not died of it.
      "UPDATE runs SET status = 'queued', worker = NULL, " +
      "idle_claims = CASE WHEN idle_claims > 0 THEN idle_claims - 1 ELSE 0 END " +
      `WHERE id IN (SELECT id FROM held) RETURNING ${RUN}`,
    [worker],
  );
  const turns: Turns = new Map();
  for (const { tenant_id } of rows) wantTurn(turns, tenant_id, now);
  yield* enqueue(turns);
  yield* tellEvents(dialect, rows);
}

export function* nextDue(): Verb<number | null> {
  const queued = yield* first<{ at: number | null }>("SELECT min(due_at) AS at FROM queues");
  const leased = yield* first<{ at: number | null }>(
    "SELECT min(lease_until) AS at FROM runs WHERE status = 'running'",
  );
  const times = [queued?.at, leased?.at].filter((at) => at != null);
  return times.length === 0 ? null : Math.min(...times);
}
