/**
 * Retention: removes processed events after `processedFor` and pending events after `pendingFor`. A
 * tenant above `maxBytes` loses its oldest processed events and ended runs, and then its oldest pending
 * events. Each call removes a bounded number of events and runs. A run that has not ended is not removed, nor
 * are its events.
 */

import type { Retention, SweepResult, TenantSweep } from "../../events/retention/model.ts";
import {
  expiredSpans,
  type RetentionTime,
  type Span,
} from "../../events/retention/retention-clock.ts";
import { type CountedEvent, decrementPending } from "../../events/store/claim-events.ts";
import { idFloor } from "../../kernel/lib/ids.ts";
import { type Dialect, inLists, query, type Verb } from "../../kernel/store/sql.ts";
import { write } from "../../kernel/store/verb.ts";
import { lockTenants } from "../../tenants/lock-tenants.ts";
import type { TenantSettings } from "../../tenants/model.ts";
import { type CountedRun, discountRuns } from "../runs/store/end-runs.ts";
import { removeRuns } from "../runs/store/read-runs.ts";

interface EventKey {
  tenant_id: string;
  seq: number;
}

/** An event that is not compared with all triggers yet can still start runs. */
const HAS_NO_OPEN_RUN =
  "NOT EXISTS (SELECT 1 FROM matching_events m WHERE m.tenant_id = events.tenant_id AND m.event_id = events.id) AND NOT EXISTS (SELECT 1 FROM run_events l JOIN runs r ON r.id = l.run_id " +
  "WHERE l.event_id = events.id AND l.tenant_id = events.tenant_id AND r.finished_at IS NULL)";

/** Former versions counted the body of an event. */
const STORED = "coalesce(stored, size) AS stored";

export const sweep = write("own", function* (retention: Retention): Verb<SweepResult> {
  const { dialect } = this;
  const { processedFor, pendingFor, maxBytes, limit } = retention;
  const processed: EventKey[] = [];
  for (const { from, to } of expiredSpans(retention, processedFor))
    processed.push(
      ...(yield* query<EventKey>(
        `SELECT tenant_id, seq FROM events WHERE processed = 1 AND processed_at >= ? AND processed_at <= ? AND ${HAS_NO_OPEN_RUN} ORDER BY processed_at LIMIT ?`,
        [from, to, limit - processed.length],
      )),
    );
  // Ids begin with the time: the index on ids finds the oldest events. The ids of a process never
  // decrease: after its clock was set back, only `received_at` has the time of the clock.
  const expired: EventKey[] = [];
  for (const { from, to } of expiredSpans(retention, pendingFor))
    expired.push(
      ...(yield* query<EventKey>(
        `SELECT tenant_id, seq FROM events WHERE id >= ? AND id < ? AND processed = 0 AND received_at >= ? AND received_at <= ? AND ${HAS_NO_OPEN_RUN} ORDER BY id LIMIT ?`,
        [idFloor(from), idFloor(to), from, to, limit - processed.length - expired.length],
      )),
    );
  // Only if no event is due by age: removing such events may free enough bytes.
  const overflow =
    processed.length + expired.length > 0 ? NO_EXCESS : yield* findOverflow(maxBytes, limit);

  const all = [...processed, ...expired, ...overflow.events];
  yield* lockTenants(
    dialect,
    all.map((event) => event.tenant_id),
  );
  const runs = yield* removeEnded(dialect, overflow.runs, limit);
  const swept = {
    processed: yield* remove(dialect, processed),
    expired: yield* remove(dialect, expired),
    overflow: yield* remove(dialect, overflow.events),
    runs: runs.length,
  };
  yield* discountRuns(runs);
  return { ...swept, hasMore: all.length + overflow.runs.length > 0 };
});

/** The events and runs that a tenant must lose. */
interface Excess {
  events: readonly EventKey[];
  runs: readonly string[];
}

const NO_EXCESS: Excess = { events: [], runs: [] };

function* findOverflow(maxBytes: number, limit: number): Verb<Excess> {
  const tenants = yield* query<LargeTenant>(
    "SELECT * FROM (SELECT id, tenants.bytes + coalesce(run_usage.bytes, 0) AS bytes, coalesce(max_bytes, ?) AS max_bytes " +
      "FROM tenants LEFT JOIN run_usage ON tenant_id = id) AS sizes WHERE bytes > max_bytes ORDER BY bytes DESC LIMIT ?",
    [maxBytes, limit],
  );
  // If open runs need all events of the largest tenant, the next tenant is swept.
  for (const tenant of tenants) {
    const excess = yield* findExcess(tenant, limit);
    if (excess.events.length + excess.runs.length > 0) return excess;
  }
  return NO_EXCESS;
}

/** Removes the runs that have not been retried in the meantime. */
function* removeEnded(dialect: Dialect, ids: readonly string[], limit: number): Verb<CountedRun[]> {
  const ended: string[] = [];
  for (const { list, params } of inLists(ids, dialect, 0))
    for (const { id } of yield* query<{ id: string }>(
      `SELECT id FROM runs WHERE id IN ${list} AND stored IS NOT NULL${dialect.skipLocked}`,
      params,
    ))
      ended.push(id);
  return yield* removeRuns(dialect, ended, limit);
}

interface LargeTenant {
  id: string;
  bytes: number;
  max_bytes: number;
}

interface StoredRun {
  id: string;
  stored: number;
}

type StoredEvent = StoredRun & EventKey;

/** Ids begin with the time. Both lists keep their order. */
function mergeById(
  events: readonly StoredEvent[],
  runs: readonly StoredRun[],
): (StoredEvent | StoredRun)[] {
  const rows: (StoredEvent | StoredRun)[] = [];
  let at = 0;
  for (const event of events) {
    for (let run = runs[at]; run && run.id < event.id; run = runs[at]) {
      rows.push(run);
      at += 1;
    }
    rows.push(event);
  }
  return [...rows, ...runs.slice(at)];
}

export function* findExcess(tenant: LargeTenant, limit: number): Verb<Excess> {
  const oldestEvents = (processed: 0 | 1, max: number) =>
    query<StoredEvent>(
      `SELECT tenant_id, seq, id, ${STORED} FROM events WHERE tenant_id = ? AND processed = ${processed} AND ${HAS_NO_OPEN_RUN} ORDER BY seq LIMIT ?`,
      [tenant.id, max],
    );
  const processed = yield* oldestEvents(1, limit);
  const ended = yield* query<StoredRun>(
    "SELECT id, stored FROM runs WHERE tenant_id = ? AND stored IS NOT NULL ORDER BY id LIMIT ?",
    [tenant.id, limit],
  );
  const rows = mergeById(processed, ended).slice(0, limit);
  if (rows.length < limit) rows.push(...(yield* oldestEvents(0, limit - rows.length)));
  const events: EventKey[] = [];
  const runs: string[] = [];
  let excess = tenant.bytes - tenant.max_bytes;
  for (const row of rows) {
    if (excess <= 0) break;
    excess -= row.stored;
    if ("seq" in row) events.push(row);
    else runs.push(row.id);
  }
  return { events, runs };
}

const TENANTS_PER_CALL = 20;

/**
 * Removes up to `limit` events by the retention times of `TenantSettings`. Visits the tenants that
 * have such times in the order of their ids, starting after the id `after`.
 */
export const sweepTenants = write(
  "own",
  function* (after: string, time: RetentionTime, limit: number): Verb<TenantSweep> {
    const { dialect } = this;
    const tenants = yield* query<{ id: string } & TenantSettings>(
      "SELECT id, processed_for, pending_for FROM tenants " +
        "WHERE id > ? AND (processed_for IS NOT NULL OR pending_for IS NOT NULL) ORDER BY id LIMIT ?",
      [after, TENANTS_PER_CALL],
    );
    const processed: EventKey[] = [];
    const expired: EventKey[] = [];
    let next = after;
    for (const { id, processed_for, pending_for } of tenants) {
      const remaining = () => limit - processed.length - expired.length;
      if (processed_for !== null)
        for (const { from, to } of expiredSpans(time, processed_for))
          processed.push(
            ...(yield* query<EventKey>(
              `SELECT tenant_id, seq FROM events WHERE tenant_id = ? AND processed = 1 AND processed_at >= ? AND processed_at <= ? AND ${HAS_NO_OPEN_RUN} ORDER BY processed_at LIMIT ?`,
              [id, from, to, remaining()],
            )),
          );
      if (pending_for !== null)
        expired.push(...(yield* findExpired(id, expiredSpans(time, pending_for), remaining())));
      if (processed.length + expired.length >= limit) break; // the next call continues with this tenant
      next = id;
    }
    yield* lockTenants(
      dialect,
      [...processed, ...expired].map((event) => event.tenant_id),
    );
    const isEnd = tenants.length < TENANTS_PER_CALL && next === (tenants.at(-1)?.id ?? after);
    return {
      processed: yield* remove(dialect, processed),
      expired: yield* remove(dialect, expired),
      next: isEnd ? null : next,
    };
  },
);

/** Reads only the oldest pending events, so that the cost does not grow with the backlog. */
function* findExpired(tenant: string, spans: readonly Span[], limit: number): Verb<EventKey[]> {
  const oldest = yield* query<EventKey & { id: string; received_at: number }>(
    `SELECT tenant_id, seq, id, received_at FROM events WHERE tenant_id = ? AND processed = 0 AND ${HAS_NO_OPEN_RUN} ORDER BY seq LIMIT ?`,
    [tenant, limit],
  );
  return oldest.filter(({ id, received_at }) =>
    spans.some(({ from, to }) => id < idFloor(to) && received_at >= from && received_at <= to),
  );
}

interface RemovedEvent extends CountedEvent {
  id: string;
  seq: number;
  stored: number;
  processed: number;
  pack: number;
}

/** Decrements the event counts of the packs, and deletes packs without events. */
function* decrementPacks(
  dialect: Dialect,
  tenant: string,
  removed: readonly RemovedEvent[],
): Verb<void> {
  const packs = [...Map.groupBy(removed, (row) => row.pack)];
  const empty: number[] = [];
  // Most packs lose the same number of events, such as one. They share a statement.
  for (const [count, alike] of Map.groupBy(packs, ([, events]) => events.length)) {
    const seqs = alike.map(([seq]) => seq);
    for (const { list, params } of inLists(seqs, dialect, 2))
      for (const { seq, events } of yield* query<{ seq: number; events: number }>(
        `UPDATE packs SET events = events - ? WHERE tenant_id = ? AND seq IN ${list} AND part = 0 RETURNING seq, events`,
        [count, tenant, ...params],
      ))
        if (events === 0) empty.push(seq);
  }
  for (const { list, params } of inLists(empty, dialect, 1))
    yield* query(`DELETE FROM packs WHERE tenant_id = ? AND seq IN ${list}`, [tenant, ...params]);
}

/** Deletes the verdicts of the events, and their links to runs. */
function* removeLinks(
  dialect: Dialect,
  tenant: string,
  removed: readonly RemovedEvent[],
): Verb<void> {
  const ids = removed.map(({ id }) => id);
  for (const { list, params } of inLists(ids, dialect, 1)) {
    yield* query(`DELETE FROM verdicts WHERE tenant_id = ? AND event_id IN ${list}`, [
      tenant,
      ...params,
    ]);
    yield* query(`DELETE FROM run_events WHERE event_id IN ${list}`, params);
  }
}

/** Returns the number of removed events. Another replica may have removed some of `events` before. */
function* remove(dialect: Dialect, events: readonly EventKey[]): Verb<number> {
  let count = 0;
  for (const [tenant, ownEvents] of Map.groupBy(events, (event) => event.tenant_id)) {
    const removed: RemovedEvent[] = [];
    const seqs = ownEvents.map((event) => event.seq);
    for (const { list, params } of inLists(seqs, dialect, 1)) {
      // The runs are checked again: one may have been retried in the meantime.
      const where = `tenant_id = ? AND seq IN ${list} AND ${HAS_NO_OPEN_RUN}`;
      removed.push(
        ...(yield* query<RemovedEvent>(
          `DELETE FROM events WHERE ${where} RETURNING id, seq, type, ${STORED}, processed, quota_exempt, pack`,
          [tenant, ...params],
        )),
      );
    }
    yield* decrementPacks(dialect, tenant, removed);
    yield* removeLinks(dialect, tenant, removed);
    count += removed.length;
    const bytes = removed.reduce((sum, row) => sum + row.stored, 0);
    const last = removed.reduce((max, row) => Math.max(max, row.seq), 0);
    yield* query(
      "UPDATE tenants SET bytes = bytes - ?, pruned_seq = CASE WHEN pruned_seq < ? THEN ? ELSE pruned_seq END WHERE id = ?",
      [bytes, last, last, tenant],
    );
    yield* decrementPending(
      tenant,
      removed.filter((row) => row.processed === 0),
    );
  }
  return count;
}
