/** Claims and releases events, marks them as processed, and reopens them. */

import {
  type Dialect,
  execute,
  first,
  inLists,
  insert,
  notify,
  query,
  type Value,
  type Verb,
} from "../../kernel/store/sql.ts";
import { write } from "../../kernel/store/verb.ts";
import { lockTenants } from "../../tenants/lock-tenants.ts";
import type {
  Claim,
  ClaimResult,
  EventRow,
  MarkResult,
  ReleaseOptions,
  ReopenResult,
  WorkerClaim,
} from "../model.ts";
import { EVENT_FIELDS, type StoredRow, toEvent } from "./event-rows.ts";
import { getEvent } from "./read-events.ts";

/**
 * The condition on the tenant in a query by ids. `coalesce` prevents the use of an index on
 * `tenant_id`: SQLite would prefer it to the index on ids, and read the whole backlog.
 */
const OF_TENANT = "coalesce(tenant_id, '') = ?";

/** PostgreSQL limits a notice to 8000 bytes. */
const IDS_PER_NOTICE = 100;

export const markProcessed = write(
  "tenant",
  function* (
    tenant: string,
    ids: readonly string[],
    at: number,
    note: string | null,
  ): Verb<MarkResult> {
    const wanted = [...new Set(ids)];
    const marked = yield* markPending(this.dialect, tenant, wanted, at, note);
    const unmarked = wanted.filter((id) => !marked.has(id));
    const existing = yield* findExistingIds(this.dialect, tenant, unmarked);
    return {
      marked: wanted.filter((id) => marked.has(id)),
      alreadyProcessed: unmarked.filter((id) => existing.has(id)),
      unknown: unmarked.filter((id) => !existing.has(id)),
    };
  },
);

function* findExistingIds(
  dialect: Dialect,
  tenant: string,
  ids: readonly string[],
): Verb<Set<string>> {
  const existing = new Set<string>();
  for (const { list, params } of inLists(ids, dialect, 1))
    for (const { id } of yield* query<{ id: string }>(
      `SELECT id FROM events WHERE ${OF_TENANT} AND id IN ${list}`,
      [tenant, ...params],
    ))
      existing.add(id);
  return existing;
}

/** Marks the pending events among `ids`; with `by`, only those that `by` has claimed. Returns their ids. */
function* markPending(
  dialect: Dialect,
  tenant: string,
  ids: readonly string[],
  at: number,
  note: string | null,
  by?: string,
): Verb<Set<string>> {
  yield* lockTenants(dialect, [tenant]);
  const marked = new Map<string, CountedEvent>();
  const isClaimed = by === undefined ? "" : "AND claimed_by = ? ";
  for (const { list, params } of inLists(ids, dialect, 4))
    for (const row of yield* query<CountedEvent & { id: string }>(
      "UPDATE events SET processed = 1, processed_at = ?, note = ?, claimed_until = 0 " +
        `WHERE ${OF_TENANT} AND processed = 0 ${isClaimed}AND id IN ${list} RETURNING id, type, quota_exempt`,
      [at, note, tenant, ...(by === undefined ? [] : [by]), ...params],
    ))
      marked.set(row.id, row);
  yield* decrementPending(tenant, [...marked.values()]);
  yield* notifyChanged(tenant, [...marked.keys()]);
  return new Set(marked.keys());
}

/**
 * Like `markProcessed` for one event, but only if `by` holds the claim, which may have expired.
 * Undefined if the event does not exist.
 */
export const markClaimedProcessed = write(
  "tenant",
  function* (
    tenant: string,
    id: string,
    by: string,
    at: number,
    note: string | null,
  ): Verb<ClaimResult | undefined> {
    const marked = yield* markPending(this.dialect, tenant, [id], at, note, by);
    const event = yield* getEvent.call(this, tenant, id);
    return event && { applied: marked.has(id), event };
  },
);

/** Makes processed events pending again, unclaimed and without attempts. */
export const reopenEvents = write(
  "tenant",
  function* (tenant: string, ids: readonly string[]): Verb<ReopenResult> {
    const { dialect } = this;
    yield* lockTenants(dialect, [tenant]);
    const wanted = [...new Set(ids)];
    const reopened = new Map<string, CountedEvent>();
    for (const { list, params } of inLists(wanted, dialect, 1))
      for (const row of yield* query<CountedEvent & { id: string }>(
        "UPDATE events SET processed = 0, processed_at = NULL, note = NULL, claimed_by = NULL, claimed_until = 0, attempts = 0 " +
          `WHERE ${OF_TENANT} AND processed = 1 AND id IN ${list} RETURNING id, type, quota_exempt`,
        [tenant, ...params],
      ))
        reopened.set(row.id, row);
    yield* incrementPending(tenant, [...reopened.values()]);
    yield* notifyChanged(tenant, [...reopened.keys()]);
    const others = wanted.filter((id) => !reopened.has(id));
    const existing = yield* findExistingIds(dialect, tenant, others);
    return {
      reopened: wanted.filter((id) => reopened.has(id)),
      alreadyPending: others.filter((id) => existing.has(id)),
      unknown: others.filter((id) => !existing.has(id)),
    };
  },
);

export function* notifyChanged(tenant: string, ids: readonly string[]): Verb<void> {
  for (let start = 0; start < ids.length; start += IDS_PER_NOTICE)
    yield* notify({ topic: "changed", tenant, ids: ids.slice(start, start + IDS_PER_NOTICE) });
}

/** The columns of an event that the stored counts depend on. */
export interface CountedEvent {
  type: string;
  quota_exempt: number;
}

const countExempt = (events: readonly CountedEvent[]): number =>
  events.filter(({ quota_exempt }) => quota_exempt === 1).length;

function* incrementPending(tenant: string, events: readonly CountedEvent[]): Verb<void> {
  if (events.length === 0) return;
  yield* query(
    "UPDATE tenants SET pending = pending + ?, pending_exempt = pending_exempt + ? WHERE id = ?",
    [events.length, countExempt(events), tenant],
  );
  const types = Map.groupBy(events, ({ type }) => type);
  yield* insert(
    "pending_types",
    ["tenant_id", "type", "count"],
    [...types].map(([type, { length }]) => [tenant, type, length]),
    "ON CONFLICT (tenant_id, type) DO UPDATE SET count = pending_types.count + excluded.count",
  );
}

/** Subtracts events that are no longer pending from the stored counts. */
export function* decrementPending(tenant: string, events: readonly CountedEvent[]): Verb<void> {
  if (events.length === 0) return;
  // A replica of a former version does not update `pending_exempt`, so it is reset with the last event.
  yield* execute(
    "UPDATE tenants SET pending = pending - ?, " +
      "pending_exempt = CASE WHEN pending = ? THEN 0 ELSE pending_exempt - ? END WHERE id = ?",
    [events.length, events.length, countExempt(events), tenant],
  );
  const types = new Map<string, number>();
  for (const { type } of events) types.set(type, (types.get(type) ?? 0) + 1);
  for (const [type, count] of types)
    yield* execute("UPDATE pending_types SET count = count - ? WHERE tenant_id = ? AND type = ?", [
      count,
      tenant,
      type,
    ]);
  // Senders can invent types: the table must not keep every type that ever occurred.
  yield* execute("DELETE FROM pending_types WHERE tenant_id = ? AND count = 0", [tenant]);
}

/** Claims first events whose claim has expired, then unclaimed events; each the oldest first. */
export const claimEvents = write("tenant", function* (claim: Claim): Verb<EventRow[]> {
  const expired = yield* claimFrom(this.dialect, claim, claim.limit, {
    condition: "claimed_until > 0 AND claimed_until <= ?",
    params: [claim.now],
    // `coalesce` as in OF_TENANT: there are few claims, and the index on types would read the backlog.
    ofType: "coalesce(type, '') = ?",
    order: "claimed_until, seq",
  });
  const remaining = claim.limit - expired.length;
  const free = { condition: "claimed_until = 0", params: [], ofType: "type = ?", order: "seq" };
  const fresh = remaining > 0 ? yield* claimFrom(this.dialect, claim, remaining, free) : [];
  const claimed = [...expired, ...fresh].map(toEvent).sort((a, b) => a.seq - b.seq);
  yield* notifyChanged(
    claim.tenant,
    claimed.map(({ id }) => id),
  );
  return claimed;
});

function* claimFrom(
  dialect: Dialect,
  { tenant, type, by, until }: Claim,
  limit: number,
  from: { condition: string; params: Value[]; ofType: string; order: string },
): Verb<StoredRow[]> {
  return yield* query<StoredRow>(
    "WITH picked AS MATERIALIZED (" +
      `SELECT seq FROM events WHERE tenant_id = ? AND processed = 0 AND ${from.condition} ` +
      `${type === undefined ? "" : `AND ${from.ofType} `}ORDER BY ${from.order} LIMIT ?${dialect.skipLocked}) ` +
      "UPDATE events SET claimed_by = ?, claimed_until = ? " +
      `WHERE tenant_id = ? AND seq IN (SELECT seq FROM picked) RETURNING ${EVENT_FIELDS}`,
    [tenant, ...from.params, ...(type === undefined ? [] : [type]), limit, by, until, tenant],
  );
}

/**
 * Claims a pending event that no other owner holds, and counts an attempt. If `by` already holds it,
 * renews the claim, even an expired one, and counts nothing. Undefined if the event does not exist.
 */
export const claimEvent = write(
  "tenant",
  function* ({ tenant, id, by, now, until }: WorkerClaim): Verb<ClaimResult | undefined> {
    // `by` still owns the claim if `claimed_by` is set: a release would have removed it.
    const renewed = yield* first<StoredRow>(
      "UPDATE events SET claimed_until = ? " +
        `WHERE ${OF_TENANT} AND id = ? AND processed = 0 AND claimed_by = ? RETURNING ${EVENT_FIELDS}`,
      [until, tenant, id, by],
    );
    if (renewed) return { applied: true, event: toEvent(renewed) };
    const claimed = yield* first<StoredRow>(
      "UPDATE events SET claimed_by = ?, claimed_until = ?, attempts = attempts + 1 " +
        `WHERE ${OF_TENANT} AND id = ? AND processed = 0 AND claimed_until <= ? RETURNING ${EVENT_FIELDS}`,
      [by, until, tenant, id, now],
    );
    if (claimed) {
      yield* notifyChanged(tenant, [id]);
      return { applied: true, event: toEvent(claimed) };
    }
    const event = yield* getEvent.call(this, tenant, id);
    return event && { applied: false, event };
  },
);

/** Ends the claims that `by` holds on these events. Returns the ids of the released events. */
export const releaseEvents = write(
  "tenant",
  function* (
    tenant: string,
    ids: readonly string[],
    by: string,
    { notBefore = 0, uncounted = false }: ReleaseOptions = {},
  ): Verb<string[]> {
    const released = new Set<string>();
    const attempts = uncounted
      ? ", attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END"
      : "";
    for (const { list, params } of inLists(ids, this.dialect, 3))
      for (const { id } of yield* query<{ id: string }>(
        `UPDATE events SET claimed_by = NULL, claimed_until = ?${attempts} ` +
          `WHERE ${OF_TENANT} AND claimed_by = ? AND processed = 0 AND claimed_until > 0 AND id IN ${list} RETURNING id`,
        [notBefore, tenant, by, ...params],
      ))
        released.add(id);
    yield* notifyChanged(tenant, [...released]);
    return [...new Set(ids)].filter((id) => released.has(id));
  },
);
