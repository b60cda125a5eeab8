/**
 * Stops triggers that go round. One that fires on what its own flow has caused is counted by the
 * minute, in the transaction that queues its runs: so the limit holds across replicas and restarts.
 * Only events that a run has caused come here; others cost nothing.
 */
import type { StoredTrip } from "../flow-store.ts";
import type { EventPlan, NewRun, PlannedVerdict, Tripped } from "../run-store.ts";
import { type Dialect, inLists, insert, keyRows, query, type Value, type Verb } from "../sql.ts";

/** What an event causes, if no breaker has anything against it. */
export interface Caused extends EventPlan {
  tenant: string;
  event_id: string;
  at: number;
}

interface Breaker {
  tenant_id: string;
  flow_id: string;
  node_id: string;
  /** When its minute began, and how often it has fired since. */
  since: number;
  fired: number;
  /** Told once a minute at the most. */
  tripped_at: number | null;
  tripped_by: string | null;
  tripped_most: number | null;
}

const MINUTE = 60_000;
const KEY = ["tenant_id", "flow_id", "node_id"] as const;
const STATE = ["since", "fired", "tripped_at", "tripped_by", "tripped_most"] as const;

/** For whoever holds the rows of the tenants: nobody else counts meanwhile. */
export function* breakLoops(
  dialect: Dialect,
  caused: readonly Caused[],
): Verb<{ caused: readonly Caused[]; tripped: Tripped[] }> {
  const guarded = caused.flatMap(({ tenant, verdicts }) =>
    verdicts.flatMap(({ breaker, flow_id, node_id }) =>
      breaker ? [{ tenant_id: tenant, flow_id, node_id }] : [],
    ),
  );
  if (guarded.length === 0) return { caused, tripped: [] };
  const breakers = yield* findBreakers(dialect, guarded);
  const changed = new Set<Breaker>();
  const tripped: Tripped[] = [];

  const judge = ({ tenant, event_id, at }: Caused, verdict: PlannedVerdict): PlannedVerdict => {
    const { flow_id, node_id, breaker } = verdict;
    if (!breaker) return verdict;
    const found = breakers.get(keyOf({ tenant_id: tenant, flow_id, node_id })) as Breaker;
    const { reason, ...trip } = breaker;
    if (verdict.matched && mayFire(found, trip.most, at)) {
      changed.add(found);
      return verdict;
    }
    const isFirst = found.tripped_at === null || isOver(found.tripped_at, at);
    if (isFirst) {
      changed.add(found);
      Object.assign(found, { tripped_at: at, tripped_by: trip.limit, tripped_most: trip.most });
    }
    tripped.push({ ...trip, event_id, flow_id, node_id, isFirst });
    if (!verdict.matched) return verdict;
    return { ...verdict, matched: false, reasons: [...verdict.reasons, reason] };
  };
  const judged = caused.map((one): Caused => {
    const runs = one.runs.values();
    const kept: NewRun[] = [];
    const verdicts = one.verdicts.map((planned) => {
      const run = planned.matched ? runs.next().value : undefined;
      const verdict = judge(one, planned);
      if (run && verdict.matched) kept.push(run);
      return verdict;
    });
    return { ...one, verdicts, runs: kept };
  });

  yield* insert(
    "breakers",
    [...KEY, ...STATE],
    [...changed].map((row): Value[] => [...KEY, ...STATE].map((name) => row[name])),
    `ON CONFLICT (${KEY.join(", ")}) DO UPDATE SET ${STATE.map((name) => `${name} = excluded.${name}`).join(", ")}`,
  );
  return { caused: judged, tripped };
}

/** A minute begins with the first time that it fires; a clock that was set back begins another. */
const isOver = (since: number, at: number): boolean => Math.abs(at - since) >= MINUTE;

function mayFire(breaker: Breaker, most: number, at: number): boolean {
  if (isOver(breaker.since, at)) Object.assign(breaker, { since: at, fired: 0 });
  if (breaker.fired >= most) return false;
  breaker.fired += 1;
  return true;
}

type Key = Pick<Breaker, (typeof KEY)[number]>;
const keyOf = (key: Key): string => JSON.stringify(KEY.map((name) => key[name]));

function* findBreakers(dialect: Dialect, keys: readonly Key[]): Verb<Map<string, Breaker>> {
  const breakers = new Map<string, Breaker>();
  for (const key of keys)
    breakers.set(keyOf(key), {
      ...key,
      since: 0,
      fired: 0,
      tripped_at: null,
      tripped_by: null,
      tripped_most: null,
    });
  const wanted = [...breakers.values()].map((key) => KEY.map((name) => key[name]));
  for (const { values, params } of keyRows(wanted, dialect))
    for (const row of yield* query<Breaker>(
      `SELECT ${[...KEY, ...STATE].map((name) => `b.${name}`).join(", ")} FROM (VALUES ${values}) k JOIN breakers b ` +
        "ON b.tenant_id = k.column1 AND b.flow_id = k.column2 AND b.node_id = k.column3",
      params,
    ))
      breakers.set(keyOf(row), row);
  return breakers;
}

export function* listTrips(
  dialect: Dialect,
  tenant: string,
  flows: readonly string[],
  since: number,
): Verb<StoredTrip[]> {
  const trips: StoredTrip[] = [];
  for (const { list, params } of inLists(flows, dialect, 2))
    trips.push(
      ...(yield* query<StoredTrip>(
        'SELECT flow_id, node_id, tripped_at AS at, tripped_by AS "limit", tripped_most AS most ' +
          `FROM breakers WHERE tenant_id = ? AND tripped_at >= ? AND flow_id IN ${list} ORDER BY flow_id, node_id`,
        [tenant, since, ...params],
      )),
    );
  return trips;
}

/** To be called once the triggers are as they will be. */
export function* forgetBreakers(tenant: string): Verb<void> {
  yield* query(
    "DELETE FROM breakers WHERE tenant_id = ? AND NOT EXISTS " +
      "(SELECT 1 FROM triggers t WHERE t.flow_id = breakers.flow_id AND t.node_id = breakers.node_id)",
    [tenant],
  );
}
