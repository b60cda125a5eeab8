/** Creates runs: queued for any worker, gathered into a run that has not started, or started directly. */

import type { JsonObject } from "@signalbox/rules/json.ts";
import { writeJson } from "@signalbox/rules/large-json.ts";
import {
  type Dialect,
  execute,
  first,
  insert,
  keyRows,
  query,
  type Value,
  type Verb,
} from "../../../kernel/store/sql.ts";
import type { StoreCache } from "../../../kernel/store/store-cache.ts";
import { read, write } from "../../../kernel/store/verb.ts";
import { lockOrCreateTenants } from "../../../tenants/lock-tenants.ts";
import type { LoopGuard } from "../../matching/store/breakers.ts";
import type {
  ClaimedRun,
  Gathered,
  ImmediateRun,
  LaneRun,
  LaneStart,
  NewRun,
  RunLease,
  RunProgress,
} from "../model.ts";
import { readGraph } from "./claim-runs.ts";
import { countEnded, type EndedRun } from "./end-runs.ts";
import { linkEvents, updateEventStatus } from "./run-events.ts";
import {
  addDueTime,
  admitsRun,
  canStartNow,
  type DueTimes,
  type LaneOccupancy,
  lockQueues,
  replaceWaiting,
  saveDueTimes,
} from "./run-queues.ts";
import { RUN_FIELDS, type RunRow, startOf, toRun } from "./run-rows.ts";

/** A run that has not started, with the inputs that were added to it. */
interface PendingRun {
  id: string;
  /** The greatest depth of its inputs. `chain` is that of the same input. */
  depth: number;
  chain: readonly string[];
  gathered: Gathered[];
  count: number;
}

/** The maximum size of the gathered inputs as JSON. Further inputs are only counted. */
const MAX_GATHERED_CHARS = 200_000;

/**
 * Queues runs for any worker. Returns one id for each: of the new run, of the existing run with the
 * same key, or of the run that gathered the input. Null if the run was skipped; see `WhenFull`.
 */
export const queueRuns = write("combined", function* (runs: readonly NewRun[]) {
  const { dialect } = this;
  const [earliest] = runs;
  if (!earliest) return [];
  yield* lockOrCreateTenants(
    dialect,
    runs.map(({ tenant }) => tenant),
    earliest.at,
  );
  const ended: EndedRun[] = [];
  const ids = yield* addRuns(dialect, runs, { ended });
  yield* countEnded(dialect, ended);
  return ids;
});

interface AddOptions {
  /** The runs that were replaced are added to it. The caller counts their bytes. */
  ended: EndedRun[];
  /** Updates the trigger status of the events of the runs. */
  updateEvents?: typeof updateEventStatus;
  /** Can prevent that a run is created. */
  guard?: Pick<LoopGuard, "stops" | "count">;
}

/**
 * The caller must have locked the rows of the tenants, so that concurrent transactions find each other's
 * runs with the same key or gather lane.
 */
export function* addRuns(
  dialect: Dialect,
  runs: readonly NewRun[],
  { ended, updateEvents = updateEventStatus, guard }: AddOptions,
): Verb<(string | null)[]> {
  const existingIds = yield* findExisting(dialect, runs);
  const created: { run: NewRun; pending: PendingRun }[] = [];
  /** The run that gathers inputs, by gather lane. */
  const gatherers = new Map<string, PendingRun | undefined>();
  const occupancy: LaneOccupancy = new Map();
  const changed = new Set<PendingRun>();
  const ids: (string | null)[] = [];
  for (const run of runs) {
    const existing = existingIds.get(keyOf(run.tenant, run.key));
    const lane = run.gather && JSON.stringify([run.tenant, run.gather.lane]);
    if (existing === undefined && lane !== undefined && !gatherers.has(lane))
      gatherers.set(lane, yield* findPending(dialect, run));
    const gatherer = lane === undefined ? undefined : gatherers.get(lane);
    if (existing === undefined && gatherer) {
      gatherInto(gatherer, run);
      changed.add(gatherer);
    }
    const id =
      existing ??
      gatherer?.id ??
      // Only runs that are created are counted; a stopped run does not occupy its lane.
      (!guard?.stops(run) && (yield* admitsRun(occupancy, run)) ? run.id : null);
    ids.push(id);
    if (id === null) continue;
    if (run.key !== undefined) existingIds.set(keyOf(run.tenant, run.key), id);
    if (existing !== undefined || gatherer) continue;
    guard?.count(run);
    const pending = newPending(run);
    created.push({ run, pending });
    if (lane !== undefined) gatherers.set(lane, pending);
  }
  yield* insert(
    "runs",
    RUN_COLUMNS,
    created.map(({ run, pending }) => runValues(run, pending)),
  );
  const inserted = new Set(created.map(({ pending }) => pending));
  for (const pending of changed) if (!inserted.has(pending)) yield* saveGathered(pending);

  const links = runs.flatMap(({ tenant, event_id }, index) => {
    const id = ids[index] ?? null;
    return id === null ? [] : [{ tenant, event_id, id }];
  });
  yield* linkEvents(links);
  const dueTimes: DueTimes = new Map();
  for (const { run } of created)
    addDueTime(dueTimes, { ...run, tenant_id: run.tenant }, run.due_at);
  const replaced = yield* replaceWaiting(
    dialect,
    created.map(({ run }) => run),
    dueTimes,
  );
  ended.push(...replaced);
  yield* saveDueTimes(dueTimes);
  // One call for all events: their rows must be locked in the order of their ids.
  yield* (replaced.length > 0 ? updateEventStatus : updateEvents)(dialect, [...links, ...replaced]);
  return ids;
}

/** Stores a run and claims it for the caller. Undefined if a run with the same key exists. */
export const startRun = write("own", function* (immediateRun: ImmediateRun, lease: RunLease) {
  const { dialect } = this;
  const run: NewRun = { ...immediateRun, due_at: lease.now, limit: undefined, gather: undefined };
  if (run.key !== undefined) {
    yield* lockOrCreateTenants(dialect, [run.tenant], run.at);
    if ((yield* findExisting(dialect, [run])).size > 0) return undefined;
  }
  yield* insertRunning([{ run, lease }]);
  yield* linkEvents([run]);
  yield* updateEventStatus(dialect, [run]);
  return yield* readStarted(this.cache, run);
});

/** Returns what `startRun` would return, but stores nothing; see `RunProgress.start`. */
export const prepareRun = read(
  "own",
  function* ({ at, ...run }: ImmediateRun, { worker, now }: RunLease): Verb<ClaimedRun> {
    return {
      run: {
        ...run,
        chain: run.chain ?? [],
        key: run.key ?? null,
        status: "running",
        due_at: now,
        output: null,
        error: null,
        cancel_requested: false,
        worker,
        claims: 1,
        gathered: [],
        gathered_count: 0,
        created_at: at,
        started_at: now,
        finished_at: null,
      },
      graph: yield* readGraph(this.cache, run),
      steps: [],
      bytes: 0,
    };
  },
);

/** Inserts runs as `startRun` does. Ignores runs that are stored already. */
export function* insertStarted(starts: readonly Start[]): Verb<void> {
  yield* insertRunning(starts, "ON CONFLICT (id) DO NOTHING");
}

/**
 * Stores a run for a client that waits for the result, and claims it if its lane is below its
 * limit. Otherwise the run is held, and later admitted ahead of the tenant's queued runs; with
 * `whenFull: "skip"` it is not stored.
 */
export const startInLane = write(
  "own",
  function* (laneRun: LaneRun, lease: RunLease): Verb<LaneStart> {
    const { dialect } = this;
    const run: NewRun = { ...laneRun, due_at: lease.now, gather: undefined };
    const { tenant } = run;
    yield* lockOrCreateTenants(dialect, [tenant], run.at);
    const [existing] = (yield* findExisting(dialect, [run])).values();
    if (existing !== undefined) return { outcome: "queued", id: existing };
    if (!(yield* admitsRun(new Map(), run))) return { outcome: "full" };
    const dueTimes: DueTimes = new Map();
    // Before the queue is locked: a transaction that has locked a queue must not wait for a run.
    const replaced = yield* replaceWaiting(dialect, [run], dueTimes);
    yield* lockQueues(dialect, [tenant]);
    const isFree = yield* canStartNow(run, lease.now);
    if (isFree) yield* insertRunning([{ run, lease }]);
    else yield* insert("runs", RUN_COLUMNS, [runValues(run, newPending(run), "held")]);
    yield* linkEvents([run]);
    yield* saveDueTimes(dueTimes);
    yield* updateEventStatus(dialect, [run, ...replaced]);
    yield* countEnded(dialect, replaced);
    const claimed = isFree ? yield* readStarted(this.cache, run) : undefined;
    return claimed ? { outcome: "started", claimed } : { outcome: "queued", id: run.id };
  },
);

type Start = NonNullable<RunProgress["start"]>;

function* insertRunning(starts: readonly Start[], onConflict?: string): Verb<void> {
  const columns = [...RUN_COLUMNS, "worker", "lease_until", "started_at"];
  const rows = starts.map(({ run: immediateRun, lease: { worker, now, until } }) => {
    const run: NewRun = { ...immediateRun, due_at: now };
    return [...runValues(run, newPending(run), "running"), worker, until, now];
  });
  yield* insert("runs", columns, rows, onConflict);
}

function* readStarted(cache: StoreCache, { id }: NewRun): Verb<ClaimedRun | undefined> {
  const row = yield* first<RunRow>(`SELECT ${RUN_FIELDS} FROM runs WHERE id = ?`, [id]);
  return row && { run: toRun(row), graph: yield* readGraph(cache, row), steps: [], bytes: 0 };
}

const newPending = ({ id, depth, chain = [] }: NewRun): PendingRun => ({
  id,
  depth,
  chain,
  gathered: [],
  count: 0,
});

const keyOf = (tenant: string, key: string | undefined): string | undefined =>
  key === undefined ? undefined : JSON.stringify([tenant, key]);

/** Returns the ids of stored runs by their keys. */
function* findExisting(
  dialect: Dialect,
  runs: readonly NewRun[],
): Verb<Map<string | undefined, string>> {
  const keys = runs.flatMap(({ tenant, key }) => (key === undefined ? [] : [[tenant, key]]));
  const ids = new Map<string | undefined, string>();
  for (const { values, params } of keyRows(keys, dialect))
    for (const { id, tenant_id, run_key } of yield* query<{
      id: string;
      tenant_id: string;
      run_key: string;
    }>(
      `SELECT r.id, r.tenant_id, r.run_key FROM (VALUES ${values}) k JOIN runs r ` +
        "ON r.tenant_id = k.column1 AND r.run_key = k.column2",
      params,
    ))
      ids.set(keyOf(tenant_id, run_key), id);
  return ids;
}

/**
 * Finds the run that gathers inputs, and locks it, so that no worker claims it before an input is
 * added.
 */
function* findPending(dialect: Dialect, { tenant, gather }: NewRun): Verb<PendingRun | undefined> {
  const row = yield* first<Pick<RunRow, "id" | "depth" | "chain" | "gathered" | "gathered_count">>(
    "SELECT id, depth, chain, gathered, gathered_count FROM runs WHERE tenant_id = ? AND gather_lane = ? AND claims = 0 " +
      `AND finished_at IS NULL ORDER BY id LIMIT 1${dialect.skipLocked}`,
    [tenant, gather?.lane ?? null],
  );
  if (!row) return undefined;
  const { id, depth, chain, gathered, gathered_count: count } = row;
  return { id, depth, chain: JSON.parse(chain), gathered: JSON.parse(gathered), count };
}

function gatherInto(pending: PendingRun, { input, event_id, at, depth, chain = [] }: NewRun): void {
  pending.count += 1;
  // The longest chain counts; otherwise a loop could continue forever.
  if (depth > pending.depth) Object.assign(pending, { depth, chain });
  // Only runs of events gather inputs. Their stored input is a small object, never a `LargeJson`.
  const eventInput = input as JsonObject;
  const more = [
    ...pending.gathered,
    { at, input: eventInput, ...(event_id !== undefined && { event_id }) },
  ];
  if (JSON.stringify(more).length <= MAX_GATHERED_CHARS) pending.gathered = more;
}

function* saveGathered({ id, depth, chain, gathered, count }: PendingRun): Verb<void> {
  yield* execute(
    "UPDATE runs SET gathered = ?, gathered_count = ?, depth = ?, chain = ? WHERE id = ?",
    [JSON.stringify(gathered), count, depth, JSON.stringify(chain), id],
  );
}

// biome-ignore format: grouped as in the table
const RUN_COLUMNS = [
  "id", "tenant_id", "app", "flow_id", "version", "trigger_node", "cause", "run_key", "event_id", "parent_run", "token_id",
  "depth", "chain", "input_start", "input", "gathered", "gathered_count", "lane", "lane_limit", "gather_lane", "status", "due_at", "claims",
  "idle_claims", "created_at",
];

const runValues = (
  run: NewRun,
  { depth, chain, gathered, count }: PendingRun,
  status: "queued" | "held" | "running" = "queued",
): Value[] => {
  const input = writeJson(run.input);
  return [
    run.id,
    run.tenant,
    run.app,
    run.flow_id,
    run.version,
    run.trigger_node,
    run.cause,
    run.key ?? null,
    run.event_id ?? null,
    run.parent_run ?? null,
    run.token_id ?? null,
    depth,
    JSON.stringify(chain),
    startOf(input),
    input,
    JSON.stringify(gathered),
    count,
    run.limit?.lane ?? null,
    run.limit?.max ?? null,
    run.gather?.lane ?? null,
    status,
    run.due_at,
    status === "running" ? 1 : 0,
    status === "running" ? 1 : 0,
    run.at,
  ];
};
