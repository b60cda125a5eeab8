/**
 * Stores events with the verdicts and runs of their triggers, and those of triggers that are compared after
 * their event was stored. See flows/matching/model.ts.
 */

import type { StalePlan } from "../../../events/model.ts";
import { appendToLog } from "../../../events/store/append-events.ts";
import { notifyChanged } from "../../../events/store/claim-events.ts";
import {
  type Dialect,
  execute,
  first,
  inLists,
  insert,
  keyRows,
  notify,
  query,
  together,
  type Verb,
} from "../../../kernel/store/sql.ts";
import { read, write } from "../../../kernel/store/verb.ts";
import { lockTenants, type TenantHead } from "../../../tenants/lock-tenants.ts";
import { countEnded, type EndedRun } from "../../runs/store/end-runs.ts";
import { updateEventStatus } from "../../runs/store/run-events.ts";
import type {
  ClaimedMatching,
  DeferredMatch,
  FinishedMatching,
  MatchingClaim,
  MatchingClaimRef,
  MatchingRef,
  MatchingResult,
  PlannedRequest,
  PlannedResult,
  TriggerKey,
  TrippedTrigger,
} from "../model.ts";
import type { PlannedEvent } from "./breakers.ts";
import { preparePlan, storePlans, verdictBytes } from "./event-plans.ts";

const writeTriggers = (triggers: readonly TriggerKey[]): string =>
  JSON.stringify(triggers.map(({ flow_id, node_id }) => [flow_id, node_id]));

const readTriggers = (text: string): TriggerKey[] =>
  (JSON.parse(text) as [string, string][]).map(([flow_id, node_id]) => ({ flow_id, node_id }));

type DeferredEvent = MatchingRef & DeferredMatch;

/** Must be called after the runs of these new events were stored: they determine the status of the events. */
function* deferMatching(dialect: Dialect, deferred: readonly DeferredEvent[]): Verb<void> {
  if (deferred.length === 0) return;
  yield* insert(
    "matching_events",
    ["tenant_id", "event_id", "triggers", "due_at"],
    deferred.map(({ tenant, id, triggers, until }) => [tenant, id, writeTriggers(triggers), until]),
  );
  const ids = deferred.map(({ id }) => id).toSorted();
  for (const { list, params } of inLists(ids, dialect, 0))
    yield* execute(
      `UPDATE events SET trigger_status = 'matching' WHERE id IN ${list} AND trigger_status IS NULL`,
      params,
    );
  yield* notify({ topic: "matching", due: Math.min(...deferred.map(({ until }) => until)) });
}

/**
 * Stores the requests of a batch in one transaction, with the verdicts and runs of their events, and returns
 * one result per request. `quota` is the quota of tenants without their own; null means no quota.
 */
export const appendEvents = write(
  "combined",
  function* (
    batch: readonly PlannedRequest[],
    quota: number | null,
  ): Verb<(PlannedResult | StalePlan)[]> {
    const { dialect } = this;
    const planned: PlannedEvent[] = [];
    const deferred: DeferredEvent[] = [];
    const ended: EndedRun[] = [];
    let tripped: TrippedTrigger[] = [];
    const outcomes = yield* appendToLog(dialect, batch, quota, {
      // Without a plan, the events were compared with no trigger.
      revisionOf: ({ plan }) => plan?.revision,
      add({ tenant, events, plan }, index) {
        const event = events[index];
        const eventPlan = plan?.events[index];
        if (!event || !eventPlan) return 0;
        if (eventPlan.deferred) deferred.push({ tenant, id: event.id, ...eventPlan.deferred });
        const prepared = preparePlan(tenant, event, eventPlan);
        planned.push(prepared);
        return verdictBytes(prepared);
      },
      *store() {
        tripped = yield* storePlans(dialect, planned, ended);
        yield* deferMatching(dialect, deferred);
      },
    });
    yield* countEnded(dialect, ended);
    return tripped.length === 0
      ? outcomes
      : outcomes.map((outcome) => addTripped(outcome, tripped));
  },
);

/** Adds each stopped trigger to the result of the request that stored its event. */
function addTripped(
  outcome: PlannedResult | StalePlan,
  tripped: readonly TrippedTrigger[],
): PlannedResult | StalePlan {
  if (outcome.outcome !== "stored") return outcome;
  const ids = new Set(outcome.events.flatMap(({ id, duplicate }) => (duplicate ? [] : [id])));
  const trippedByRequest = tripped.filter(({ event_id }) => ids.has(event_id));
  return trippedByRequest.length === 0 ? outcome : { ...outcome, tripped: trippedByRequest };
}

/** A claim looks at this many tenants at most, so that it takes a bounded time. */
const MAX_TENANTS = 32;

/** `after`: the last tenant that was served. */
export const claimMatching = write(
  "own",
  function* ({
    now,
    until,
    limit,
    after,
    room,
  }: MatchingClaim): Verb<{ claimed: ClaimedMatching[]; after: string }> {
    const claimed: ClaimedMatching[] = [];
    let tenant = after;
    let isWrapped = after === "";
    for (let looked = 0; looked < MAX_TENANTS && claimed.length < limit; looked += 1) {
      const next = yield* first<{ tenant_id: string; due_at: number }>(
        "SELECT tenant_id, due_at FROM matching_events WHERE tenant_id > ? ORDER BY tenant_id, due_at LIMIT 1",
        [tenant],
      );
      if (!next && isWrapped) break;
      isWrapped ||= !next;
      tenant = next?.tenant_id ?? "";
      const most = Math.min(limit - claimed.length, room(tenant));
      if (next && next.due_at <= now && most > 0)
        claimed.push(...(yield* claimOfTenant(this.dialect, tenant, { now, until, limit: most })));
    }
    return { claimed, after: tenant };
  },
);

function* claimOfTenant(
  dialect: Dialect,
  tenant: string,
  { now, until, limit }: Pick<MatchingClaim, "now" | "until" | "limit">,
): Verb<ClaimedMatching[]> {
  const rows = yield* query<{ event_id: string; triggers: string; attempts: number }>(
    "WITH picked AS MATERIALIZED (SELECT event_id FROM matching_events WHERE tenant_id = ? AND due_at <= ? " +
      `ORDER BY due_at, event_id LIMIT ?${dialect.skipLocked}) ` +
      "UPDATE matching_events SET due_at = ?, attempts = attempts + 1 " +
      "WHERE tenant_id = ? AND event_id IN (SELECT event_id FROM picked) RETURNING event_id, triggers, attempts",
    [tenant, now, limit, until, tenant],
  );
  // In the order of their arrival: ids begin with the time.
  return rows
    .toSorted((a, b) => (a.event_id < b.event_id ? -1 : 1))
    .map(({ event_id, triggers, attempts }) => ({
      tenant,
      id: event_id,
      attempts,
      triggers: readTriggers(triggers),
    }));
}

interface MatchedRow {
  id: string;
  source: string;
  source_id: string;
  received_at: number;
}

/** Deletes the row of the event, or keeps it for the remaining triggers. Undefined if the claim is lost. */
function* takeRow({
  tenant,
  id,
  attempts,
  plan: { deferred },
}: FinishedMatching): Verb<MatchedRow | undefined> {
  const where = "WHERE tenant_id = ? AND event_id = ? AND attempts = ? RETURNING event_id";
  const key = [tenant, id, attempts];
  const taken = deferred
    ? yield* first(`UPDATE matching_events SET triggers = ?, due_at = ? ${where}`, [
        writeTriggers(deferred.triggers),
        deferred.until,
        ...key,
      ])
    : yield* first(`DELETE FROM matching_events ${where}`, key);
  return taken
    ? yield* first<MatchedRow>(
        "SELECT id, source, source_id, received_at FROM events WHERE id = ?",
        [id],
      )
    : undefined;
}

/** The events whose runs would start a version of a flow that is not published any more. */
function* findStale(
  dialect: Dialect,
  finished: readonly FinishedMatching[],
  heads: ReadonlyMap<string, TenantHead>,
): Verb<Set<FinishedMatching>> {
  const stale = new Set<FinishedMatching>();
  const outdated = finished.filter(({ tenant, revision }) => {
    const head = heads.get(tenant);
    return head !== undefined && head.deleted_at === null && head.triggers_rev !== revision;
  });
  const matchedOf = ({ plan }: FinishedMatching) => plan.verdicts.filter(({ matched }) => matched);
  const keys = outdated.flatMap((event) =>
    matchedOf(event).map(({ flow_id, node_id }) => [flow_id, node_id]),
  );
  const versions = new Map<string, number>();
  for (const { values, params } of keyRows(keys, dialect))
    for (const { flow_id, node_id, version } of yield* query<TriggerKey & { version: number }>(
      `SELECT t.flow_id, t.node_id, t.version FROM (VALUES ${values}) k JOIN triggers t ` +
        "ON t.flow_id = k.column1 AND t.node_id = k.column2 WHERE t.active = 1",
      params,
    ))
      versions.set(JSON.stringify([flow_id, node_id]), version);
  for (const event of outdated)
    if (
      matchedOf(event).some(
        ({ flow_id, node_id, version }) =>
          versions.get(JSON.stringify([flow_id, node_id])) !== version,
      )
    )
      stale.add(event);
  return stale;
}

/** Stores verdicts and runs of events in one transaction, and returns one result per event. */
export const finishMatching = write("own", function* (finished: readonly FinishedMatching[]) {
  const { dialect } = this;
  const heads = yield* lockTenants(
    dialect,
    finished.map(({ tenant }) => tenant),
  );
  const stale = yield* findStale(dialect, finished, heads);
  const isStale = (event: FinishedMatching) => stale.has(event);
  const current = finished.filter((event) => !isStale(event));
  const rows = yield* together(current.map(takeRow));
  const matched = new Map(rows.flatMap((row) => (row ? [[row.id, row]] : [])));
  const planned = current.flatMap(({ tenant, id, plan }): PlannedEvent[] => {
    const row = matched.get(id);
    if (!row) return [];
    return [preparePlan(tenant, row, plan)];
  });
  const ended: EndedRun[] = [];
  const tripped = yield* storePlans(dialect, planned, ended, updateEventStatus);
  yield* countVerdicts(planned);
  yield* saveStatus(
    dialect,
    planned.filter(({ deferred }) => !deferred),
  );
  yield* countEnded(dialect, ended);
  const remaining = planned.flatMap(({ deferred }) => deferred?.until ?? []);
  if (remaining.length > 0) yield* notify({ topic: "matching", due: Math.min(...remaining) });
  return finished.map((event): MatchingResult => {
    if (isStale(event)) return { outcome: "stale" };
    if (!matched.has(event.id)) return { outcome: "gone" };
    return {
      outcome: "matched",
      tripped: tripped.filter(({ event_id }) => event_id === event.id),
    };
  });
});

/** Adds the verdicts to the stored bytes of their events. */
function* countVerdicts(planned: readonly PlannedEvent[]): Verb<void> {
  for (const [tenant, ofTenant] of Map.groupBy(planned, ({ tenant }) => tenant)) {
    const sizes = ofTenant.map((event) => ({
      event_id: event.event_id,
      bytes: verdictBytes(event),
    }));
    const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
    if (total === 0) continue;
    yield* together(
      sizes.map(({ event_id, bytes }) =>
        execute("UPDATE events SET stored = coalesce(stored, size) + ? WHERE id = ?", [
          bytes,
          event_id,
        ]),
      ),
    );
    yield* execute("UPDATE tenants SET bytes = bytes + ? WHERE id = ?", [total, tenant]);
  }
}

/** The status of events that have started runs is that of the runs. No other transaction locks these events. */
function* saveStatus(dialect: Dialect, planned: readonly PlannedEvent[]): Verb<void> {
  for (const [tenant, ofTenant] of Map.groupBy(planned, ({ tenant }) => tenant)) {
    const ids = ofTenant.map(({ event_id }) => event_id).toSorted();
    const changed: string[] = [];
    for (const { list, params } of inLists(ids, dialect, 0))
      for (const { id } of yield* query<{ id: string }>(
        `UPDATE events SET trigger_status = NULL WHERE id IN ${list} AND trigger_status = 'matching' RETURNING id`,
        params,
      ))
        changed.push(id);
    yield* notifyChanged(tenant, changed);
  }
}

/**
 * Moves the end of claims that are still held: to now, to release them, or to later, to renew them.
 */
export const moveMatching = write(
  "own",
  function* (claims: readonly MatchingClaimRef[], due: number): Verb<void> {
    yield* lockTenants(
      this.dialect,
      claims.map(({ tenant }) => tenant),
    );
    yield* together(
      claims.map(({ tenant, id, attempts }) =>
        execute(
          "UPDATE matching_events SET due_at = ? WHERE tenant_id = ? AND event_id = ? AND attempts = ?",
          [due, tenant, id, attempts],
        ),
      ),
    );
    if (claims.length > 0) yield* notify({ topic: "matching", due });
  },
);

/** The triggers that are not compared with the event yet. */
export const listDeferred = read("tenant", function* (tenant: string, event: string) {
  const row = yield* first<{ triggers: string }>(
    "SELECT triggers FROM matching_events WHERE tenant_id = ? AND event_id = ?",
    [tenant, event],
  );
  return row ? readTriggers(row.triggers) : [];
});

/** When the next event can be claimed; null if there is none. */
export const nextMatchingDue = read("own", function* (): Verb<number | null> {
  const row = yield* first<{ due: number | null }>(
    "SELECT min(due_at) AS due FROM matching_events",
  );
  return row?.due ?? null;
});

/** The number of events that are not matched yet. The count stops at `max`. */
export const countMatching = read("own", function* (max: number): Verb<number> {
  const row = yield* first<{ count: number }>(
    "SELECT count(*) AS count FROM (SELECT 1 AS one FROM matching_events LIMIT ?) counted",
    [max],
  );
  return row?.count ?? 0;
});
