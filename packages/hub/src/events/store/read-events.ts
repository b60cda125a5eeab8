/**
 * Reads of the event log. Their cost depends on the size of the page, not on the number of events. A
 * list with a filter that has no index scans a bounded part of the log per page.
 */

import { concat } from "../../kernel/lib/bytes.ts";
import type { MaybePromise } from "../../kernel/lib/maybe-promise.ts";
import type { Payload } from "../../kernel/store/packs.ts";
import { FULL_BYTES, type PayloadPosition, payloadAt, unpack } from "../../kernel/store/packs.ts";
import { first, inLists, query, type Value, type Verb } from "../../kernel/store/sql.ts";
import { type Page, read, readThenDecode } from "../../kernel/store/verb.ts";
import type { EventQuery, EventRow, PendingStatus, RecentType } from "../model.ts";
import { EVENT_FIELDS, type StoredRow, toEvent } from "./event-rows.ts";

/** The status is limited, because senders can invent types. */
const MAX_STATUS_TYPES = 1_000;

export const pendingStatus = read("tenant", function* (tenant: string): Verb<PendingStatus> {
  // One statement, so that the counts and the newest event are consistent.
  const counts = yield* query<{ type: string; count: number; total: number; latest: number }>(
    "SELECT type, count, (SELECT pending FROM tenants WHERE id = ?) AS total, " +
      "(SELECT received_at FROM events WHERE tenant_id = ? AND processed = 0 " +
      "ORDER BY seq DESC LIMIT 1) AS latest FROM pending_types WHERE tenant_id = ? " +
      // Not a parameter: with a limit that is unknown when the statement is prepared, SQLite sorts more
      // slowly, which makes the query take three times as long.
      `ORDER BY count DESC, type LIMIT ${MAX_STATUS_TYPES}`,
    [tenant, tenant, tenant],
  );
  return {
    pending_count: Number(counts[0]?.total ?? 0),
    latest_received_at: counts[0]?.latest ?? null,
    types: Object.fromEntries(counts.map(({ type, count }) => [type, count])),
  };
});

/** The number of pending events of all tenants. */
export const countPending = read("own", function* (): Verb<number> {
  const total = yield* first<{ pending: number }>(
    "SELECT CAST(COALESCE(SUM(pending), 0) AS BIGINT) AS pending FROM tenants",
  );
  return total?.pending ?? 0;
});

/**
 * The types of the pending events, sorted bytewise, starting after the type `after`. Each type has
 * the source of its newest pending event.
 */
export const listEventTypes = read(
  "tenant",
  function* (
    tenant: string,
    after: string,
    limit: number,
  ): Verb<{ source: string; type: string }[]> {
    return yield* query<{ source: string; type: string }>(
      "SELECT t.type, (SELECT e.source FROM events e WHERE e.tenant_id = t.tenant_id AND e.type = t.type " +
        "AND e.processed = 0 ORDER BY e.seq DESC LIMIT 1) AS source " +
        "FROM pending_types t WHERE t.tenant_id = ? AND t.type > ? ORDER BY t.type LIMIT ?",
      [tenant, after, limit],
    );
  },
);

/** Counts the newest `limit` events by source, type and `source_id`, and sorts by these fields. */
export const listRecentTypes = read("tenant", function* (tenant: string, limit: number): Verb<
  RecentType[]
> {
  const rows = yield* query<Omit<RecentType, "count">>(
    "SELECT source, source_id, type, received_at FROM events WHERE tenant_id = ? ORDER BY seq DESC LIMIT ?",
    [tenant, limit],
  );
  const byType = Map.groupBy(rows, (row) => JSON.stringify([row.source, row.type, row.source_id]));
  return [...byType]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, [row, ...more]]) => ({ ...(row as RecentType), count: 1 + more.length }));
});

export const listEvents = read("tenant", function* (wanted: EventQuery): Verb<Page<EventRow>> {
  const newest = (wanted.order ?? "newest") === "newest";
  const where = ["tenant_id = ?"];
  const params: Value[] = [wanted.tenant];
  const and = (condition: string, value: Value) => {
    where.push(condition);
    params.push(value);
  };
  // Literals, not parameters: the planner chooses a partial index by the text of the condition.
  if (wanted.pending !== undefined) where.push(`processed = ${wanted.pending ? 0 : 1}`);
  const { repo, source, origin, claimableAt } = wanted;
  // The type has an index only for pending events.
  const isTypeScanned = wanted.type !== undefined && wanted.pending !== true;
  const isScan =
    isTypeScanned || [repo, source, origin, claimableAt].some((value) => value !== undefined);
  if (wanted.type !== undefined && !isTypeScanned) and("type = ?", wanted.type);
  if (wanted.cursor !== undefined) and(newest ? "seq < ?" : "seq > ?", wanted.cursor);
  const select = (columns: string) =>
    `SELECT ${columns} FROM events WHERE ${where.join(" AND ")} ORDER BY seq ${newest ? "DESC" : "ASC"}`;

  let end: number | undefined;
  if (isScan) {
    const last = `${select("seq")} LIMIT 1 OFFSET ${SCAN_LIMIT - 1}`;
    end = (yield* first<{ seq: number }>(last, params))?.seq;
    if (end !== undefined) and(newest ? "seq >= ?" : "seq <= ?", end);
    if (wanted.type !== undefined && isTypeScanned) and("type = ?", wanted.type);
    if (repo !== undefined) and("repo = ?", repo);
    if (source !== undefined) and("source = ?", source);
    if (origin !== undefined) {
      and("(source = ? OR source_id = ?)", origin);
      params.push(origin);
    }
    if (claimableAt !== undefined) and("claimed_until <= ?", claimableAt);
  }
  const rows = yield* query<StoredRow>(`${select(EVENT_FIELDS)} LIMIT ?`, [
    ...params,
    wanted.limit + 1,
  ]);
  const items = rows.slice(0, wanted.limit).map(toEvent);
  return { items, next: (rows.length > wanted.limit ? items.at(-1)?.seq : end) ?? null };
});

/** The number of events that a page with an unindexed filter scans. */
const SCAN_LIMIT = 5_000;

/**
 * A random id of this database. A cursor is valid only in the database that created it. On PostgreSQL, the
 * 7th and 8th digit change with the timeline: a standby that was promoted may lack the newest events.
 *
 * The id is created on the first call, so that a database that was emptied gets another id. This needs
 * no transaction: of several concurrent inserts only one succeeds.
 */
export const getLogId = read("registry", function* (): Verb<string> {
  const { randomId, timeline } = this.dialect;
  const id = timeline === undefined ? "id" : `substr(id, 1, 6) || ${timeline} || substr(id, 9)`;
  for (;;) {
    const row = yield* first<{ id: string }>(`SELECT ${id} AS id FROM log_id`);
    if (row) return row.id;
    yield* query(`INSERT INTO log_id (one, id) VALUES (1, ${randomId}) ON CONFLICT DO NOTHING`);
  }
});

/** Returns those `ids` that are delivery ids of stored events of these endpoints (`source_id`). */
export const findExternalIds = read(
  "tenant",
  function* (tenant: string, endpoints: readonly string[], ids: readonly string[]): Verb<string[]> {
    const found = new Set<string>();
    for (const endpoint of endpoints)
      for (const { list, params } of inLists(ids, this.dialect, 2))
        for (const { external_id } of yield* query<{ external_id: string }>(
          `SELECT external_id FROM events WHERE tenant_id = ? AND source_id = ? AND external_id IN ${list}`,
          [tenant, endpoint, ...params],
        ))
          found.add(external_id);
    return [...found];
  },
);

export const getEvent = read("tenant", function* (tenant: string, id: string) {
  const row = yield* first<StoredRow>(
    `SELECT ${EVENT_FIELDS} FROM events WHERE id = ? AND tenant_id = ?`,
    [id, tenant],
  );
  return row && toEvent(row);
});

/**
 * Like `getPayload`, but returns only the bytes of the body from `from` to `to` (exclusive). Also
 * returns undefined if the body is compressed; then use `getPayload`.
 *
 * The database cuts the slice, so that a large body is never in memory as a whole.
 */
export const slicePayload = read(
  "tenant",
  function* (tenant: string, seq: number, from: number, to: number): Verb<Payload | undefined> {
    const { maxBlob } = this.dialect;
    const position = yield* locatePayload(tenant, seq);
    if (!position) return undefined;
    const { pack, pack_at, meta_size, size } = position;
    const body = pack_at + meta_size;
    const end = body + Math.min(to, size);
    const slices: Uint8Array[] = [];
    const read = function* (at: number, bytes: number): Verb<boolean> {
      const part = Math.floor(at / maxBlob);
      const row = yield* first<{ body: Uint8Array | ArrayBuffer }>(
        "SELECT substr(body, ?, ?) AS body FROM packs WHERE tenant_id = ? AND seq = ? AND part = ? AND codec = ''",
        [at - part * maxBlob + 1, bytes, tenant, pack, part],
      );
      if (row) slices.push(new Uint8Array(row.body));
      return row !== undefined;
    };
    // The first part of a pack contains the metadata of its first event.
    if (!(yield* read(pack_at, meta_size))) return undefined;
    for (let at = body + from; at < end; ) {
      const next = Math.min(end, (Math.floor(at / maxBlob) + 1) * maxBlob);
      if (!(yield* read(at, next - at))) return undefined;
      at = next;
    }
    const sliced = { pack_at: 0, meta_size, size: Math.max(0, end - body - from) };
    return payloadAt(concat(slices), sliced);
  },
);

const locatePayload = (tenant: string, seq: number) =>
  first<PayloadPosition & { size: number }>(
    "SELECT pack, pack_at, meta_size, size FROM events WHERE tenant_id = ? AND seq = ?",
    [tenant, seq],
  );

export const getPayload = readThenDecode("tenant", function* (tenant: string, seq: number): Verb<
  () => MaybePromise<Payload | undefined>
> {
  const { packs } = this.cache;
  const position = yield* locatePayload(tenant, seq);
  if (!position) return () => undefined;
  const { pack, pack_at, meta_size, size } = position;
  const key = `${pack}:${tenant}`;
  const cached = packs.get(key);
  if (cached) return () => payloadAt(cached, position);
  const rows = yield* query<{ codec: string; body: Uint8Array }>(
    "SELECT codec, body FROM packs WHERE tenant_id = ? AND seq = ? ORDER BY part",
    [tenant, pack],
  );
  // Retention may have removed the pack in the meantime.
  if (rows.length === 0) return () => undefined;
  return () => {
    const maxSize = Math.max(FULL_BYTES, pack_at + meta_size + size + 1);
    const unpacked = unpack(this.dialect.codec, rows, maxSize);
    if (unpacked instanceof Promise) return unpacked.then((bytes) => payloadAt(bytes, position));
    // A larger pack has only one event, and is not cached.
    if (unpacked.byteLength <= FULL_BYTES) packs.set(key, unpacked);
    return payloadAt(unpacked, position);
  };
});
