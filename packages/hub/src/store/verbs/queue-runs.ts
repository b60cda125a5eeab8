/** How runs come to be: queued for anybody, joined to one that is still to begin, or begun at once. */

import type {
  ClaimedRun,
  Gathered,
  ImmediateRun,
  LaneRun,
  LaneStart,
  NewRun,
  RunLease,
} from "../run-store.ts";
import { type Dialect, first, insert, keyRows, query, type Value, type Verb } from "../sql.ts";
import type { StoreCache } from "../store-cache.ts";
import type { LoopGuard } from "./breakers.ts";
import { equip } from "./claim-runs.ts";
import { type Crowds, comesIn, hasRoom, replaceWaiting } from "./full-lanes.ts";
import { lockOrCreateTenants } from "./lock-tenants.ts";
import { linkEvents, tellEvents } from "./run-events.ts";
import { enqueue, lockQueues, type Turns, wantTurn } from "./run-queues.ts";
import { RUN, type RunRow } from "./run-rows.ts";

/** A run that is still to begin, and what it has gathered so far. */
interface Open {
  id: string;
  /** Of what led furthest to it. */
  depth: number;
  chain: readonly string[];
  gathered: Gathered[];
  count: number;
}

/** How much one run gathers, as JSON; what comes on top is only counted. */
const GATHERED_CHARS = 200_000;

export function* queueRuns(dialect: Dialect, runs: readonly NewRun[]): Verb<(string | null)[]> {
  const [earliest] = runs;
  if (!earliest) return [];
  yield* lockOrCreateTenants(
    dialect,
    runs.map(({ tenant }) => tenant),
    earliest.at,
  );
  return yield* addRuns(dialect, runs);
}

interface Adding {
  /** Says what the events show of them. */
  tell?: typeof tellEvents;
  /** Has the last word on what would begin. */
  guard?: Pick<LoopGuard, "stops" | "count">;
}

/** For whoever holds the rows of the tenants: so the second of two runs finds the first to join. */
export function* addRuns(
  dialect: Dialect,
  runs: readonly NewRun[],
  { tell = tellEvents, guard }: Adding = {},
): Verb<(string | null)[]> {
  const known = yield* findKnown(dialect, runs);
  const fresh: { run: NewRun; open: Open }[] = [];
  const lanes = new Map<string, Open | undefined>();
  const crowds: Crowds = new Map();
  const joined = new Set<Open>();
  const ids: (string | null)[] = [];
  for (const run of runs) {
    const twin = known.get(keyOf(run.tenant, run.key));
    const lane = run.gather && JSON.stringify([run.tenant, run.gather.lane]);
    if (twin === undefined && lane !== undefined && !lanes.has(lane))
      lanes.set(lane, yield* findOpen(dialect, run));
    const host = lane === undefined ? undefined : lanes.get(lane);
    if (twin === undefined && host) {
      join(host, run);
      joined.add(host);
    }
    const id =
      twin ??
      host?.id ??
      // Only what begins is counted; what is stopped takes no place in a lane.
      (!guard?.stops(run) && (yield* comesIn(crowds, run)) ? run.id : null);
    ids.push(id);
    if (id === null) continue;
    if (run.key !== undefined) known.set(keyOf(run.tenant, run.key), id);
    if (twin !== undefined || host) continue;
    guard?.count(run);
    const open = newOpen(run);
    fresh.push({ run, open });
    if (lane !== undefined) lanes.set(lane, open);
  }
  yield* insert(
    "runs",
    RUN_COLUMNS,
    fresh.map(({ run, open }) => runValues(run, open)),
  );
  const isFresh = new Set(fresh.map(({ open }) => open));
  for (const open of joined) if (!isFresh.has(open)) yield* saveGathered(open);

  const links = runs.flatMap(({ tenant, event_id }, nth) => {
    const id = ids[nth] ?? null;
    return id === null ? [] : [{ tenant, event_id, id }];
  });
  yield* linkEvents(links);
  const turns: Turns = new Map();
  for (const { run } of fresh) wantTurn(turns, run.tenant, run.due_at);
  const replaced = yield* replaceWaiting(
    dialect,
    fresh.map(({ run }) => run),
    turns,
  );
  yield* enqueue(turns);
  // In one go: whoever holds the row of an event waits for no other but in their order.
  yield* (replaced.length > 0 ? tellEvents : tell)(dialect, [...links, ...replaced]);
  return ids;
}

export function* startRun(
  dialect: Dialect,
  cache: StoreCache,
  given: ImmediateRun,
  lease: RunLease,
): Verb<ClaimedRun | undefined> {
  const run: NewRun = { ...given, due_at: lease.now, limit: undefined, gather: undefined };
  if (run.key !== undefined) {
    yield* lockOrCreateTenants(dialect, [run.tenant], run.at);
    if ((yield* findKnown(dialect, [run])).size > 0) return undefined;
  }
  yield* insertBegun(run, lease);
  yield* linkEvents([run]);
  yield* tellEvents(dialect, [run]);
  return yield* takeUp(dialect, cache, run);
}

export function* startInLane(
  dialect: Dialect,
  cache: StoreCache,
  given: LaneRun,
  lease: RunLease,
): Verb<LaneStart> {
  const run: NewRun = { ...given, due_at: lease.now, gather: undefined };
  const { tenant } = run;
  yield* lockOrCreateTenants(dialect, [tenant], run.at);
  const [known] = (yield* findKnown(dialect, [run])).values();
  if (known !== undefined) return { outcome: "queued", id: known };
  if (!(yield* comesIn(new Map(), run))) return { outcome: "full" };
  const turns: Turns = new Map();
  // Before the queue is locked: whoever holds that must not wait for a run.
  const replaced = yield* replaceWaiting(dialect, [run], turns);
  yield* lockQueues(dialect, [tenant]);
  const isFree = yield* hasRoom(run, lease.now);
  if (isFree) yield* insertBegun(run, lease);
  else yield* insert("runs", RUN_COLUMNS, [runValues(run, newOpen(run), "held")]);
  yield* linkEvents([run]);
  yield* enqueue(turns);
  yield* tellEvents(dialect, [run, ...replaced]);
  const claimed = isFree ? yield* takeUp(dialect, cache, run) : undefined;
  return claimed ? { outcome: "started", claimed } : { outcome: "queued", id: run.id };
}

function* insertBegun(run: NewRun, { worker, now, until }: RunLease): Verb<void> {
  const columns = [...RUN_COLUMNS, "worker", "lease_until", "started_at"];
  const values = runValues(run, newOpen(run), "running");
  yield* insert("runs", columns, [[...values, worker, until, now]]);
}

/** For whoever has begun it. */
function* takeUp(
  dialect: Dialect,
  cache: StoreCache,
  { id }: NewRun,
): Verb<ClaimedRun | undefined> {
  const rows = yield* query<RunRow>(`SELECT ${RUN} FROM runs WHERE id = ?`, [id]);
  return (yield* equip(dialect, cache, rows))[0];
}

const newOpen = ({ id, depth, chain = [] }: NewRun): Open => ({
  id,
  depth,
  chain,
  gathered: [],
  count: 0,
});

const keyOf = (tenant: string, key: string | undefined): string | undefined =>
  key === undefined ? undefined : JSON.stringify([tenant, key]);

function* findKnown(
  dialect: Dialect,
  runs: readonly NewRun[],
): Verb<Map<string | undefined, string>> {
  const keys = runs.flatMap(({ tenant, key }) => (key === undefined ? [] : [[tenant, key]]));
  const known = new Map<string | undefined, string>();
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
      known.set(keyOf(tenant_id, run_key), id);
  return known;
}

/** Locked, so that nobody begins with it before what joins it is there. */
function* findOpen(dialect: Dialect, { tenant, gather }: NewRun): Verb<Open | undefined> {
  const row = yield* first<Pick<RunRow, "id" | "depth" | "chain" | "gathered" | "gathered_count">>(
    "SELECT id, depth, chain, gathered, gathered_count FROM runs WHERE tenant_id = ? AND gather_lane = ? AND claims = 0 " +
      `AND finished_at IS NULL ORDER BY id LIMIT 1${dialect.skipLocked}`,
    [tenant, gather?.lane ?? null],
  );
  if (!row) return undefined;
  const { id, depth, chain, gathered, gathered_count: count } = row;
  return { id, depth, chain: JSON.parse(chain), gathered: JSON.parse(gathered), count };
}

function join(open: Open, { input, event_id, at, depth, chain = [] }: NewRun): void {
  open.count += 1;
  // A chain grows no shorter by joining another: else it could go round for ever.
  if (depth > open.depth) Object.assign(open, { depth, chain });
  const more = [...open.gathered, { at, input, ...(event_id !== undefined && { event_id }) }];
  if (JSON.stringify(more).length <= GATHERED_CHARS) open.gathered = more;
}

function* saveGathered({ id, depth, chain, gathered, count }: Open): Verb<void> {
  yield* query(
    "UPDATE runs SET gathered = ?, gathered_count = ?, depth = ?, chain = ? WHERE id = ?",
    [JSON.stringify(gathered), count, depth, JSON.stringify(chain), id],
  );
}

// biome-ignore format: in groups, as in the table
const RUN_COLUMNS = [
  "id", "tenant_id", "app", "flow_id", "version", "trigger_node", "cause", "run_key", "event_id", "parent_run", "token_id",
  "depth", "chain", "input", "gathered", "gathered_count", "lane", "lane_limit", "gather_lane", "status", "due_at", "claims",
  "idle_claims", "created_at",
];

const runValues = (
  run: NewRun,
  { depth, chain, gathered, count }: Open,
  status: "queued" | "held" | "running" = "queued",
): Value[] => [
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
  JSON.stringify(run.input),
  JSON.stringify(gathered),
  count,
  run.limit?.lane ?? null,
  run.limit?.most ?? null,
  run.gather?.lane ?? null,
  status,
  run.due_at,
  status === "running" ? 1 : 0,
  status === "running" ? 1 : 0,
  run.at,
];
