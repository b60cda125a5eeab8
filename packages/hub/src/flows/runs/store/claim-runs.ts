/** Leases of runs: workers claim, renew and release them. */
import { type MaybeLarge, parseUnlessLarge } from "@signalbox/rules/large-json.ts";
import {
  both,
  type Dialect,
  first,
  inLists,
  query,
  type Reads,
  type Verb,
} from "../../../kernel/store/sql.ts";
import type { StoreCache } from "../../../kernel/store/store-cache.ts";
import { read, write, writeThenRead } from "../../../kernel/store/verb.ts";
import type { ClaimDraft, ClaimedRun, ClaimShares, RunLease, StepRef } from "../model.ts";
import { countEnded } from "./end-runs.ts";
import { requeueExpired } from "./recover-runs.ts";
import { updateEventStatus } from "./run-events.ts";
import {
  addDueTime,
  type DueTimes,
  isLimited,
  type RunQueue,
  saveDueTimes,
  updateAppQueue,
  updateFlowQueue,
  updateTenantQueue,
} from "./run-queues.ts";
import {
  CLAIMED_STEP_FIELDS,
  type ClaimedStepRow,
  RUN_FIELDS,
  type RunRow,
  toClaimedStep,
  toRun,
} from "./run-rows.ts";

/**
 * The maximum number of passes of one `claimOfFlow` call: a pass may find only runs that must be
 * held.
 */
const MAX_PASSES = 5;

/**
 * Claims runs that are due or whose lease has expired. Tenants, the apps of a tenant and the flows of an
 * app are served round robin, and get no more than `shares` allow. A run that was claimed many times without
 * progress fails. May return fewer runs than are due: if other workers claim at the same time, or because a
 * run that may have crashed its worker is claimed alone. Then `nextDue` returns a past time.
 *
 * The steps are loaded after the claim has committed: if loading them crashes the worker, the claim
 * still counts.
 */
export const claimRuns = writeThenRead(
  "own",
  function* (lease: RunLease, limit: number, shares: ClaimShares): Verb<Reads<ClaimedRun[]>> {
    const { dialect } = this;
    const { expired, ended, suspect } = yield* requeueExpired(dialect, lease, limit);
    const claimed =
      suspect === undefined
        ? yield* claimDue({ dialect, lease, draft: shares.draft() }, limit)
        : yield* claimRun(lease, suspect);
    yield* updateEventStatus(dialect, [...expired, ...claimed]);
    yield* countEnded(dialect, ended);
    return hydrate(this.cache, claimed);
  },
);

interface Claim {
  dialect: Dialect;
  lease: RunLease;
  draft: ClaimDraft;
}

/** Claims due runs of all tenants, an equal share for each, as far as their shares allow. */
function* claimDue(claim: Claim, limit: number): Verb<RunRow[]> {
  const { dialect, lease, draft } = claim;
  const due = yield* query<{ name: string }>(
    `SELECT tenant_id AS name FROM queues WHERE due_at <= ? ORDER BY due_at LIMIT ?${dialect.skipLocked}`,
    [lease.now, limit + draft.countFull([])],
  );
  const claimed = yield* claimOfGroups(claim, [], due, limit);
  for (const { name } of due) yield* updateTenantQueue(name, lease.now);
  return claimed;
}

/** Distributes `limit` runs equally among the groups. What some of them leave is for the others. */
function* claimOfGroups(
  claim: Claim,
  parent: readonly string[],
  due: readonly { name: string }[],
  limit: number,
): Verb<RunRow[]> {
  const claimed: RunRow[] = [];
  for (let busy = due; busy.length > 0 && claimed.length < limit; ) {
    const more: { name: string }[] = [];
    const equalShare = Math.ceil((limit - claimed.length) / busy.length);
    for (const group of busy) {
      const share = Math.min(equalShare, limit - claimed.length);
      if (share === 0) break;
      const rows = yield* claimOfGroup(claim, [...parent, group.name], share);
      claimed.push(...rows);
      if (rows.length === share) more.push(group);
    }
    busy = more;
  }
  return claimed;
}

function* claimOfGroup(claim: Claim, path: readonly string[], wanted: number): Verb<RunRow[]> {
  const { lease, draft } = claim;
  const [tenant_id = "", app, flow_id] = path;
  const limit = Math.min(wanted, Math.floor(draft.room(path)));
  if (limit < 1) {
    draft.leaveOut(path);
    return [];
  }
  let claimed: RunRow[];
  if (app === undefined) {
    const apps = yield* query<{ name: string }>(
      "SELECT app AS name FROM app_queues WHERE tenant_id = ? AND due_at <= ? ORDER BY due_at LIMIT ?",
      [tenant_id, lease.now, limit + draft.countFull(path)],
    );
    claimed = yield* claimOfGroups(claim, path, apps, limit);
  } else if (flow_id === undefined) {
    const flows = yield* query<{ name: string }>(
      "SELECT flow_id AS name FROM flow_queues WHERE tenant_id = ? AND app = ? AND due_at <= ? ORDER BY due_at LIMIT ?",
      [tenant_id, app, lease.now, limit + draft.countFull(path)],
    );
    claimed = yield* claimOfGroups(claim, path, flows, limit);
    yield* updateAppQueue({ tenant_id, app }, lease.now);
  } else {
    claimed = yield* claimOfFlow(claim, { tenant_id, app, flow_id }, limit);
    for (const _ of claimed) draft.take(path);
    yield* updateFlowQueue({ tenant_id, app, flow_id }, lease.now);
  }
  // More runs may be due.
  if (claimed.length === limit && limit < wanted) draft.leaveOut(path);
  return claimed;
}

const CLAIM =
  "UPDATE runs SET status = 'running', worker = ?, lease_until = ?, claims = claims + 1, " +
  "idle_claims = idle_claims + 1, started_at = coalesce(started_at, ?)";

const claimRun = ({ worker, now, until }: RunLease, id: string): Verb<RunRow[]> =>
  query<RunRow>(`${CLAIM} WHERE id = ? RETURNING ${RUN_FIELDS}`, [worker, until, now, id]);

/** Claims the oldest due runs of a flow. Holds runs whose lane has reached its limit. */
function* claimOfFlow(
  { dialect, lease: { worker, now, until } }: Claim,
  { tenant_id, app, flow_id }: RunQueue,
  limit: number,
): Verb<RunRow[]> {
  const claimed: RunRow[] = [];
  for (let pass = 0; pass < MAX_PASSES && claimed.length < limit; pass += 1) {
    const wanted = limit - claimed.length;
    const due = yield* query<Pick<RunRow, "id" | "tenant_id" | "lane" | "lane_limit">>(
      "SELECT id, tenant_id, lane, lane_limit FROM runs WHERE tenant_id = ? AND app = ? AND flow_id = ? " +
        `AND status IN ('queued', 'waiting') AND due_at <= ? ORDER BY due_at, id LIMIT ?${dialect.skipLocked}`,
      [tenant_id, app, flow_id, now, wanted],
    );
    const lanes = due.flatMap((run) => (isLimited(run) ? [run.lane as string] : []));
    const running = yield* countRunning(dialect, tenant_id, lanes);
    const free: string[] = [];
    const held: string[] = [];
    for (const { id, lane, lane_limit } of due) {
      const inLane = running.get(lane) ?? 0;
      if (lane_limit !== null && inLane >= lane_limit) held.push(id);
      else {
        free.push(id);
        running.set(lane, inLane + 1);
      }
    }
    for (const { list, params } of inLists(held, dialect, 0))
      yield* query(`UPDATE runs SET status = 'held' WHERE id IN ${list}`, params);
    for (const { list, params } of inLists(free, dialect, 3))
      claimed.push(
        ...(yield* query<RunRow>(`${CLAIM} WHERE id IN ${list} RETURNING ${RUN_FIELDS}`, [
          worker,
          until,
          now,
          ...params,
        ])),
      );
    if (due.length < wanted) break;
  }
  return claimed.sort((a, b) => a.due_at - b.due_at || (a.id < b.id ? -1 : 1));
}

/** The number of running runs of each lane. */
function* countRunning(
  dialect: Dialect,
  tenant: string,
  lanes: readonly string[],
): Verb<Map<string | null, number>> {
  const running = new Map<string | null, number>();
  for (const { list, params } of inLists([...new Set(lanes)], dialect, 1))
    for (const { lane, count } of yield* query<{ lane: string; count: number }>(
      "SELECT lane, count(*) AS count FROM runs WHERE tenant_id = ? AND status = 'running' AND finished_at IS NULL " +
        `AND lane IN ${list} GROUP BY lane`,
      [tenant, ...params],
    ))
      running.set(lane, count);
  return running;
}

/** The steps of a run that were read so far, and their sizes. */
interface StoredSteps extends Pick<ClaimedRun, "steps" | "bytes"> {
  run: string;
  outputBytes: number;
  hasMore: boolean;
}

type Loading = Pick<ClaimedRun, "run" | "graph"> & { stored: StoredSteps };

/**
 * Adds to each run the graph of its version and its stored steps. One read returns the first steps of all
 * runs; each further page of steps is one read.
 */
function* hydrate(cache: StoreCache, rows: readonly RunRow[]): Reads<ClaimedRun[]> {
  let runs: Loading[] = [];
  yield function* () {
    runs = [];
    for (const row of rows) runs.push(yield* load(cache, row));
  };
  for (const { stored } of runs) while (stored.hasMore) yield () => readSteps(stored);
  return runs.map(({ run, graph, stored: { steps, bytes } }) => ({ run, graph, steps, bytes }));
}

function* load(cache: StoreCache, row: RunRow): Verb<Loading> {
  const run = toRun(row);
  const stored: StoredSteps = { run: row.id, steps: [], bytes: 0, outputBytes: 0, hasMore: false };
  if (row.claims === 1) return { run, graph: yield* readGraph(cache, row), stored };
  const [graph] = yield* both(readGraph(cache, row), readSteps(stored));
  return { run, graph, stored };
}

export function* readGraph(
  { graphs }: StoreCache,
  { flow_id, version }: Pick<RunRow, "flow_id" | "version">,
): Verb<ClaimedRun["graph"]> {
  const key = `${flow_id}:${version}`;
  const cached = graphs.get(key);
  // `created_at` is compared, because a removed flow can be created again with the same id. Its versions
  // then start at 1 again.
  const found = yield* first<{ created_at: number; graph: string | null }>(
    "SELECT created_at, CASE WHEN created_at = ? THEN NULL ELSE graph END AS graph " +
      "FROM flow_versions WHERE flow_id = ? AND version = ?",
    [cached?.created_at ?? -1, flow_id, version],
  );
  if (!found) return { nodes: [], edges: [] };
  if (found.graph === null) return (cached as NonNullable<typeof cached>).graph;
  const graph: ClaimedRun["graph"] = JSON.parse(found.graph);
  graphs.set(key, { graph, created_at: found.created_at, size: found.graph.length });
  return graph;
}

/** The maximum number of steps of one run in its first read, and in each later read. */
const [FIRST_STEPS, MORE_STEPS] = [64, 256];

/** Larger outputs are omitted. The worker loads them later, only for the nodes that read them. */
const MAX_OUTPUT_BYTES = 16 * 1024;
/** After this many bytes of outputs, only outputs of at most `MAX_TINY_BYTES` are loaded. */
const MAX_OUTPUTS_BYTES = 4 * 1024 * 1024;
const MAX_TINY_BYTES = 128;

/** Reads the next page of steps, and adds them to `stored`. */
function* readSteps(stored: StoredSteps): Verb<void> {
  const { run, steps } = stored;
  const limit = steps.length === 0 ? FIRST_STEPS : MORE_STEPS;
  const rows = yield* query<{ bytes: number } & ClaimedStepRow>(
    `SELECT ${CLAIMED_STEP_FIELDS}, ` +
      "octet_length(input) + octet_length(output) + coalesce(octet_length(log), 0) AS bytes " +
      "FROM steps WHERE run_id = ? AND nth > ? ORDER BY nth LIMIT ?",
    [
      stored.outputBytes < MAX_OUTPUTS_BYTES ? MAX_OUTPUT_BYTES : MAX_TINY_BYTES,
      run,
      steps.at(-1)?.nth ?? -1,
      limit,
    ],
  );
  for (const { bytes, ...row } of rows) {
    steps.push(toClaimedStep(row));
    stored.bytes += Number(bytes);
    stored.outputBytes += row.output?.length ?? 0;
  }
  stored.hasMore = rows.length === limit;
}

/** The output of a step of a run that the caller has claimed. Rejects if there is no such step. */
export const loadOutput = read(
  "own",
  function* (run: string, { node_id, item, attempt }: StepRef): Verb<MaybeLarge> {
    const found = yield* first<{ output: string }>(
      "SELECT output FROM steps WHERE run_id = ? AND node_id = ? AND item = ? AND attempt = ?",
      [run, node_id, item, attempt],
    );
    if (!found) throw new Error(`The run ${run} has no step ${node_id} ${item} ${attempt}.`);
    return parseUnlessLarge(found.output);
  },
);

/**
 * Extends the leases of those `runs` that `worker` still has, and of no other runs. An expired lease is
 * extended too, unless another worker has claimed or requeued the run. Returns the runs whose leases were extended,
 * and those of them for which a cancellation was requested.
 */
export const renewRuns = write(
  "own",
  function* (
    { worker, until }: RunLease,
    runs: readonly string[],
  ): Verb<{ renewed: string[]; cancelRequested: string[] }> {
    const renewed: string[] = [];
    const cancelRequested: string[] = [];
    for (const { list, params } of inLists([...runs].sort(), this.dialect, 2))
      for (const { id, cancel_asked } of yield* query<{ id: string; cancel_asked: number }>(
        `WITH leased AS MATERIALIZED (SELECT id FROM runs WHERE id IN ${list} AND worker = ? ` +
          `AND status = 'running' ORDER BY id${this.dialect.forUpdate}) ` +
          "UPDATE runs SET lease_until = ? WHERE id IN (SELECT id FROM leased) RETURNING id, cancel_asked",
        [...params, worker, until],
      )) {
        renewed.push(id);
        if (cancel_asked === 1) cancelRequested.push(id);
      }
    return { renewed, cancelRequested };
  },
);

/** Returns the worker's runs to the queue, so that other workers can claim them immediately. */
export const releaseRuns = write("own", function* (worker: string, now: number): Verb<void> {
  const rows = yield* query<RunRow>(
    "WITH leased AS MATERIALIZED (SELECT id FROM runs WHERE worker = ? AND status = 'running' " +
      `ORDER BY id${this.dialect.forUpdate}) ` +
      // A worker that releases a run has not crashed, so the claim does not count.
      "UPDATE runs SET status = 'queued', worker = NULL, " +
      "idle_claims = CASE WHEN idle_claims > 0 THEN idle_claims - 1 ELSE 0 END " +
      `WHERE id IN (SELECT id FROM leased) RETURNING ${RUN_FIELDS}`,
    [worker],
  );
  const dueTimes: DueTimes = new Map();
  for (const row of rows) addDueTime(dueTimes, row, now);
  yield* saveDueTimes(dueTimes);
  yield* updateEventStatus(this.dialect, rows);
});

/**
 * The time when the next run is due or the next lease expires; null if there is neither. With `after`,
 * flows with runs that are due earlier are left out.
 */
export const nextDue = read("own", function* (after?: number): Verb<number | null> {
  const queued = yield* first<{ at: number | null }>(
    after === undefined
      ? "SELECT min(due_at) AS at FROM queues"
      : "SELECT min(due_at) AS at FROM flow_queues WHERE due_at > ?",
    after === undefined ? [] : [after],
  );
  const leased = yield* first<{ at: number | null }>(
    "SELECT min(lease_until) AS at FROM runs WHERE status = 'running'",
  );
  const times = [queued?.at, leased?.at].filter((at) => at != null);
  return times.length === 0 ? null : Math.min(...times);
});
