/**
 * Retention: processed events go after some days, unprocessed ones after many, and a tenant over
 * its volume loses its oldest, processed ones first. Each call removes a bounded number. What a run
 * still needs stays until that has ended, however long it waits.
 */
import { idFloor } from "../../lib/ids.ts";
import { type Dialect, first, inLists, query, type Verb } from "../sql.ts";
import type { Retention, SweepResult } from "../store.ts";
import { lockTenants } from "./lock-tenants.ts";
import { countDown } from "./work-events.ts";

interface Place {
  tenant_id: string;
  seq: number;
}

const UNNEEDED =
  "NOT EXISTS (SELECT 1 FROM run_events l JOIN runs r ON r.id = l.run_id " +
  "WHERE l.event_id = events.id AND l.tenant_id = events.tenant_id AND r.finished_at IS NULL)";

export function* sweep(dialect: Dialect, retention: Retention): Verb<SweepResult> {
  const { now, processedFor, pendingFor, maxBytes, limit } = retention;
  const done = yield* query<Place>(
    `SELECT tenant_id, seq FROM events WHERE processed = 1 AND processed_at <= ? AND ${UNNEEDED} ORDER BY processed_at LIMIT ?`,
    [now - processedFor, limit],
  );
  // Ids begin with the time, so the index on ids finds the oldest; none on `received_at` is needed.
  const expired = yield* query<Place>(
    `SELECT tenant_id, seq FROM events WHERE id < ? AND processed = 0 AND ${UNNEEDED} ORDER BY id LIMIT ?`,
    [idFloor(now - pendingFor), limit - done.length],
  );
  // What is due by age goes first; it may be all that the volume needs.
  const overflow = done.length + expired.length > 0 ? [] : yield* findOverflow(maxBytes, limit);

  const all = [...done, ...expired, ...overflow];
  yield* lockTenants(
    dialect,
    all.map((place) => place.tenant_id),
  );
  const swept = {
    processed: yield* remove(dialect, done),
    expired: yield* remove(dialect, expired),
    overflow: yield* remove(dialect, overflow),
  };
  return { ...swept, more: all.length > 0 };
}

function* findOverflow(maxBytes: number, limit: number): Verb<Place[]> {
  const tenants = yield* query<Over>(
    "SELECT id, bytes FROM tenants WHERE bytes > ? ORDER BY bytes DESC LIMIT ?",
    [maxBytes, limit],
  );
  // Runs may need all that the largest has: the others' turn comes all the same.
  for (const tenant of tenants) {
    const excess = yield* findExcess(tenant, maxBytes, limit);
    if (excess.length > 0) return excess;
  }
  return [];
}

interface Over {
  id: string;
  bytes: number;
}

function* findExcess(over: Over, maxBytes: number, limit: number): Verb<Place[]> {
  const oldest = (processed: 0 | 1, most: number) =>
    query<Place & { size: number }>(
      `SELECT tenant_id, seq, size FROM events WHERE tenant_id = ? AND processed = ${processed} AND ${UNNEEDED} ORDER BY seq LIMIT ?`,
      [over.id, most],
    );
  const rows = yield* oldest(1, limit);
  if (rows.length < limit) rows.push(...(yield* oldest(0, limit - rows.length)));
  let excess = over.bytes - maxBytes;
  return rows.filter((row) => {
    const wanted = excess > 0;
    excess -= row.size;
    return wanted;
  });
}

interface Removed {
  id: string;
  seq: number;
  type: string;
  size: number;
  processed: number;
  pack: number;
}

/** Takes removed events out of their packs; a pack without events goes. */
function* emptyPacks(tenant: string, removed: readonly Removed[]): Verb<void> {
  for (const [pack, gone] of Map.groupBy(removed, (row) => row.pack)) {
    const left = yield* first<{ events: number }>(
      "UPDATE packs SET events = events - ? WHERE tenant_id = ? AND seq = ? AND part = 0 RETURNING events",
      [gone.length, tenant, pack],
    );
    if (left?.events === 0)
      yield* query("DELETE FROM packs WHERE tenant_id = ? AND seq = ?", [tenant, pack]);
  }
}

/** Which runs an event started, and why not others. */
function* forget(dialect: Dialect, tenant: string, removed: readonly Removed[]): Verb<void> {
  const ids = removed.map(({ id }) => id);
  for (const { list, params } of inLists(ids, dialect, 1)) {
    yield* query(`DELETE FROM verdicts WHERE tenant_id = ? AND event_id IN ${list}`, [
      tenant,
      ...params,
    ]);
    yield* query(`DELETE FROM run_events WHERE event_id IN ${list}`, params);
  }
}

/** Removes what is still there (another replica may sweep as well); answers with how many. */
function* remove(dialect: Dialect, places: readonly Place[]): Verb<number> {
  let count = 0;
  for (const [tenant, own] of Map.groupBy(places, (place) => place.tenant_id)) {
    const removed: Removed[] = [];
    const seqs = own.map((place) => place.seq);
    for (const { list, params } of inLists(seqs, dialect, 1)) {
      // Asked again: a run may have been tried again in the meantime.
      const these = `tenant_id = ? AND seq IN ${list} AND ${UNNEEDED}`;
      removed.push(
        ...(yield* query<Removed>(
          `DELETE FROM events WHERE ${these} RETURNING id, seq, type, size, processed, pack`,
          [tenant, ...params],
        )),
      );
    }
    yield* emptyPacks(tenant, removed);
    yield* forget(dialect, tenant, removed);
    count += removed.length;
    const bytes = removed.reduce((sum, row) => sum + row.size, 0);
    const last = removed.reduce((most, row) => Math.max(most, row.seq), 0);
    yield* query(
      "UPDATE tenants SET bytes = bytes - ?, pruned_seq = CASE WHEN pruned_seq < ? THEN ? ELSE pruned_seq END WHERE id = ?",
      [bytes, last, last, tenant],
    );
    yield* countDown(
      tenant,
      removed.filter((row) => row.processed === 0),
    );
  }
  return count;
}
