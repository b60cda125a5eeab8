/**
 * Circuit breakers stop triggers that start each other in a loop. If a trigger fires on an event that
 * its own flow caused, its new runs are counted per minute, in the transaction that stores them. The
 * limit therefore holds across replicas and restarts. An event that is gathered into an existing run
 * is not counted. Breakers apply only to events that a run has caused.
 */

import {
  type Dialect,
  inLists,
  insert,
  keyRows,
  query,
  type Value,
  type Verb,
} from "../../../kernel/store/sql.ts";
import { read } from "../../../kernel/store/verb.ts";
import type { StoredTrip } from "../../model.ts";
import type { NewRun } from "../../runs/model.ts";
import type { EventPlan, PlannedVerdict, TrippedTrigger } from "../model.ts";

/** An event with the runs that it starts, unless a breaker stops them. */
export interface PlannedEvent extends EventPlan {
  tenant: string;
  event_id: string;
  at: number;
  /** Whether a connection sent the event, and not a webhook endpoint or a flow. */
  isOfConnection: boolean;
  /** The stored text of the reasons of each verdict. */
  reasons: readonly string[];
}

interface Breaker {
  tenant_id: string;
  flow_id: string;
  node_id: string;
  /** The start of the current minute. */
  since: number;
  /** The number of runs since then. */
  fired: number;
  /** Updated at most once a minute. */
  tripped_at: number | null;
  tripped_by: string | null;
  tripped_most: number | null;
}

const MINUTE_MS = 60_000;
const KEY = ["tenant_id", "flow_id", "node_id"] as const;
const STATE = ["since", "fired", "tripped_at", "tripped_by", "tripped_most"] as const;

/** Decides which of the planned runs are stored. */
export interface LoopGuard {
  /** Whether the run's trigger has reached its limit. */
  stops(run: NewRun): boolean;
  /** Counts a run that is stored: it was neither skipped nor gathered into another run. */
  count(run: NewRun): void;
  /** The verdict to store: not matched if the trigger was stopped. */
  finalVerdict(
    event: PlannedEvent,
    verdict: PlannedVerdict,
    run: NewRun | undefined,
  ): PlannedVerdict;
  /** Must be called last. Returns the triggers that were stopped. */
  save(): Verb<TrippedTrigger[]>;
}

/** The caller must have locked the rows of the tenants, so that no other transaction changes the counts. */
export function* loadLoopGuard(
  dialect: Dialect,
  planned: readonly PlannedEvent[],
): Verb<LoopGuard> {
  const guarded = new Map<NewRun, { key: Key; max: number; at: number }>();
  const keys: Key[] = [];
  for (const { tenant: tenant_id, at, verdicts, runs } of planned) {
    const started = runs.values();
    for (const { breaker, matched, flow_id, node_id } of verdicts) {
      const run = matched ? started.next().value : undefined;
      if (!breaker) continue;
      const key = { tenant_id, flow_id, node_id };
      keys.push(key);
      if (run) guarded.set(run, { key, max: breaker.max, at });
    }
  }
  const breakers = yield* findBreakers(dialect, keys);
  const breakerOf = (key: Key) => breakers.get(keyOf(key)) as Breaker;
  const changed = new Set<Breaker>();
  const stopped = new Set<NewRun>();
  const tripped: TrippedTrigger[] = [];

  return {
    stops(run) {
      const guardedRun = guarded.get(run);
      if (!guardedRun) return false;
      const { key, max, at } = guardedRun;
      const breaker = breakerOf(key);
      if (isOver(breaker.since, at)) Object.assign(breaker, { since: at, fired: 0 });
      const hasReachedLimit = breaker.fired >= max;
      if (hasReachedLimit) stopped.add(run);
      return hasReachedLimit;
    },
    count(run) {
      const guardedRun = guarded.get(run);
      if (!guardedRun) return;
      const breaker = breakerOf(guardedRun.key);
      breaker.fired += 1;
      changed.add(breaker);
    },
    finalVerdict({ tenant, event_id, at }, verdict, run) {
      const { flow_id, node_id, breaker: plannedTrip, matched } = verdict;
      if (!plannedTrip || (matched && !(run && stopped.has(run)))) return verdict;
      const breaker = breakerOf({ tenant_id: tenant, flow_id, node_id });
      const { reason, ...trip } = plannedTrip;
      const isFirst = breaker.tripped_at === null || isOver(breaker.tripped_at, at);
      if (isFirst) {
        changed.add(breaker);
        Object.assign(breaker, { tripped_at: at, tripped_by: trip.limit, tripped_most: trip.max });
      }
      tripped.push({ ...trip, event_id, flow_id, node_id, isFirst });
      if (!matched) return verdict;
      return { ...verdict, matched: false, reasons: [...verdict.reasons, reason] };
    },
    *save() {
      yield* insert(
        "breakers",
        [...KEY, ...STATE],
        [...changed].map((row): Value[] => [...KEY, ...STATE].map((name) => row[name])),
        `ON CONFLICT (${KEY.join(", ")}) DO UPDATE SET ${STATE.map((name) => `${name} = excluded.${name}`).join(", ")}`,
      );
      return tripped;
    },
  };
}

/**
 * Whether the minute that began at `since` has ended. It also ends if the clock is set back by a
 * minute.
 */
const isOver = (since: number, at: number): boolean => Math.abs(at - since) >= MINUTE_MS;

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

/** The triggers of these flows that a circuit breaker has stopped since `since`. */
export const listTrips = read(
  "tenant",
  function* (tenant: string, flows: readonly string[], since: number): Verb<StoredTrip[]> {
    const trips: StoredTrip[] = [];
    for (const { list, params } of inLists(flows, this.dialect, 2))
      trips.push(
        ...(yield* query<StoredTrip>(
          'SELECT flow_id, node_id, tripped_at AS at, tripped_by AS "limit", tripped_most AS "max" ' +
            `FROM breakers WHERE tenant_id = ? AND tripped_at >= ? AND flow_id IN ${list} ORDER BY flow_id, node_id`,
          [tenant, since, ...params],
        )),
      );
    return trips;
  },
);

/** Deletes the breakers of triggers that no longer exist. Must be called after triggers are saved. */
export function* deleteUnusedBreakers(tenant: string): Verb<void> {
  yield* query(
    "DELETE FROM breakers WHERE tenant_id = ? AND NOT EXISTS " +
      "(SELECT 1 FROM triggers t WHERE t.flow_id = breakers.flow_id AND t.node_id = breakers.node_id)",
    [tenant],
  );
}
