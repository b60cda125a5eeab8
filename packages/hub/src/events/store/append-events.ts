/**
 * Stores the events of a batch of requests in one transaction. It locks the row of each tenant first. Therefore
 * `seq` follows the order of the commits (once event N is visible, no event before N can appear), the
 * quota is exact, and two replicas cannot store the same webhook twice.
 *
 * On PostgreSQL it takes two round trips if no trigger listens: one locks the rows and searches for
 * duplicates, and one sends all inserts and the commit. So it holds the locks for one round trip.
 */

import {
  createPacker,
  PACK_COLUMNS,
  type PackedPayload,
  sharedPackBytes,
} from "../../kernel/store/packs.ts";
import { columnsOf } from "../../kernel/store/schema.ts";
import {
  both,
  type Dialect,
  insert,
  keyRows,
  notify,
  query,
  type Value,
  type Verb,
} from "../../kernel/store/sql.ts";
import { lockOrCreateTenants, type TenantHead } from "../../tenants/lock-tenants.ts";
import type { AppendRequest, AppendResult, CheckResult, NewEvent, StalePlan } from "../model.ts";
import { eventTables } from "../tables.ts";

interface EventPosition {
  id: string;
  seq: number;
}

/** A new event with its place in the log and in its pack. */
interface AddedEvent {
  tenant: string;
  seq: number;
  event: NewEvent;
  position: PackedPayload;
  isExempt: boolean;
  /** The revision of the triggers with which the event was compared; 0 if with none. */
  revision: number;
  /** The bytes that `BatchExtension.add` has returned. */
  bytes: number;
}

/** What the caller stores with the events, in the same transaction. */
export interface BatchExtension<Request> {
  /** The revision of the tenant's triggers that the request requires; undefined if it requires none. */
  revisionOf(request: Request): number | undefined;
  /** Called for each new event. Returns the bytes that are stored with it. */
  add(request: Request, index: number): number;
  /** Called when the events are stored, but not counted yet. */
  store(): Verb<void>;
}

/** The amounts that a batch adds to the counters of one tenant. */
interface Growth {
  pending: number;
  exempt: number;
  bytes: number;
  types: Map<string, number>;
}

// biome-ignore format: grouped as in the table
const EVENT_COLUMNS = [
  "tenant_id", "seq", "id", "source", "source_id", "external_id", "type", "received_at",
  "action", "repo", "sender", "number", "title", "url", "size", "pack", "pack_at", "meta_size",
  "check_result", "quota_exempt", "triggers_rev", "stored",
];

/** Returns one result per request. `defaultQuota` is the quota of tenants without their own. */
export function* appendToLog<Request extends AppendRequest>(
  dialect: Dialect,
  batch: readonly Request[],
  defaultQuota: number | null,
  extension: BatchExtension<Request>,
): Verb<(AppendResult | StalePlan)[]> {
  const nonEmpty = batch.filter(({ events }) => events.length > 0);
  if (nonEmpty.length === 0) return batch.map(() => ({ outcome: "duplicate", events: [] }));
  const tenants = nonEmpty.map(({ tenant }) => tenant);
  const at = nonEmpty[0]?.events[0]?.received_at as number;
  const [heads, positions] = yield* both(
    lockOrCreateTenants(dialect, tenants, at),
    findStored(dialect, nonEmpty),
  );
  const growths = new Map<string, Growth>();
  const added: AddedEvent[] = [];
  const packer = createPacker(dialect);

  const outcomes = batch.map((request): AppendResult | StalePlan => {
    const { tenant, events: requested, skipQuota } = request;
    const keys = requested.map((event) => keyOf(tenant, event));
    const newKeys = new Set<string>();
    for (const key of keys) if (!positions.has(key)) newKeys.add(key);
    if (newKeys.size === 0)
      return { outcome: "duplicate", events: keys.map((key) => resultOf(positions, key, true)) };

    const head = heads.get(tenant) as TenantHead;
    if (head.deleted_at !== null) return { outcome: "deleted" };
    const revision = extension.revisionOf(request);
    if (revision !== undefined && revision !== head.triggers_rev) return { outcome: "stale" };
    const quota = skipQuota ? null : (head.quota ?? defaultQuota);
    const pending = head.pending - head.pending_exempt;
    if (quota !== null && pending + newKeys.size > quota)
      return { outcome: "over_quota", pending, quota };

    const growth = growths.get(tenant) ?? { pending: 0, exempt: 0, bytes: 0, types: new Map() };
    growths.set(tenant, growth);
    const results = requested.map((event, index) => {
      const key = keys[index] as string;
      // A second event with the same key in this request is a duplicate of the first.
      if (!newKeys.delete(key)) return resultOf(positions, key, true);
      head.seq += 1;
      head.pending += 1;
      growth.pending += 1;
      if (skipQuota) {
        head.pending_exempt += 1;
        growth.exempt += 1;
      }
      growth.types.set(event.type, (growth.types.get(event.type) ?? 0) + 1);
      const position = packer.add(tenant, head.seq, event);
      positions.set(key, { id: event.id, seq: head.seq });
      added.push({
        tenant,
        seq: head.seq,
        event,
        position,
        isExempt: skipQuota ?? false,
        revision: revision ?? 0,
        bytes: extension.add(request, index),
      });
      return resultOf(positions, key, false);
    });
    return { outcome: "stored", events: results };
  });

  // The compressed size of the packs is known only when all events have been added.
  const packs = packer.finish();
  const events = added.map((row) => {
    const { tenant, event, position, bytes } = row;
    const stored = eventRowBytes(tenant, event) + bytes + sharedPackBytes(position, event);
    (growths.get(tenant) as Growth).bytes += stored;
    return eventValues(row, stored);
  });
  yield* insert("events", EVENT_COLUMNS, events);
  yield* insert("packs", PACK_COLUMNS, packs);
  yield* extension.store();
  yield* incrementCounters(growths, heads);
  for (const tenant of growths.keys())
    yield* notify({ topic: "events", tenant, seq: (heads.get(tenant) as TenantHead).seq });
  return outcomes;
}

/** Finds the events of the batch that are already stored, by the sender's delivery id. */
function* findStored(
  dialect: Dialect,
  batch: readonly AppendRequest[],
): Verb<Map<string, EventPosition>> {
  const keys: Value[][] = [];
  for (const { tenant, events } of batch)
    for (const { source_id, external_id } of events)
      if (external_id !== null) keys.push([tenant, source_id, external_id]);

  const positions = new Map<string, EventPosition>();
  for (const { values, params } of keyRows(keys, dialect)) {
    const rows = yield* query<
      EventPosition & { tenant_id: string; source_id: string; external_id: string }
    >(
      "SELECT e.id, e.seq, e.tenant_id, e.source_id, e.external_id " +
        `FROM (VALUES ${values}) k JOIN events e ` +
        "ON e.tenant_id = k.column1 AND e.source_id = k.column2 AND e.external_id = k.column3",
      params,
    );
    for (const row of rows) positions.set(keyOf(row.tenant_id, row), { id: row.id, seq: row.seq });
  }
  return positions;
}

/** An event without a delivery id has no duplicates. The lengths make the key unambiguous. */
const keyOf = (
  tenant: string,
  event: Pick<NewEvent, "id" | "source_id" | "external_id">,
): string =>
  event.external_id === null
    ? event.id
    : `${tenant.length},${event.source_id.length},${tenant}${event.source_id}${event.external_id}`;

const resultOf = (positions: Map<string, EventPosition>, key: string, duplicate: boolean) => {
  const { id, seq } = positions.get(key) as EventPosition;
  return { id, seq, duplicate };
};

// biome-ignore format: in the order of EVENT_COLUMNS
const eventValues = ({ tenant, seq, event, position, isExempt, revision }: AddedEvent, stored: number): Value[] => [
  tenant, seq, event.id, event.source, event.source_id, event.external_id, event.type, event.received_at,
  event.action, event.repo, event.sender, event.number, event.title, event.url, event.body.byteLength,
  position.pack, position.pack_at, position.meta_size, packCheckResult(event.check_result), isExempt ? 1 : 0,
  revision, stored,
];

/**
 * All fields are in one column, because nearly every event has none of them, and inserting one null is
 * free. The value is an array, because a search would also find the field names of an object.
 */
const packCheckResult = (result: CheckResult | null): string | null =>
  result && JSON.stringify([result.conclusion, result.head_branch, result.head_sha]);

// Constants, because the text of an insert is cached by its columns.
const TENANT_COLUMNS = ["id", "created_at", "seq", "pending", "pending_exempt", "bytes"];
const PENDING_COLUMNS = columnsOf(eventTables.pending_types);

/** Pages of rows and indexes are not full. */
export const PER_FULL_BYTE = 1.15;
/** The numbers of an event, and the headers of its row and of its index entries. */
const EVENT_BYTES = 90;

const lengthOf = (text: string | null | undefined): number => text?.length ?? 0;

/** The bytes of the row in the database, which `tenants.bytes` sums. */
function eventRowBytes(tenant: string, event: NewEvent): number {
  const { id, source, source_id, external_id, type } = event;
  const { action, repo, sender, title, url, check_result } = event;
  const once =
    source.length +
    lengthOf(action) +
    lengthOf(repo) +
    lengthOf(sender) +
    lengthOf(title) +
    lengthOf(url) +
    lengthOf(check_result?.head_branch);
  // These are also in an index, and the tenant is in five.
  const indexed = id.length + source_id.length + lengthOf(external_id) + type.length;
  return Math.round(PER_FULL_BYTE * (EVENT_BYTES + once + 2 * indexed + 6 * tenant.length));
}

function* incrementCounters(
  growths: Map<string, Growth>,
  heads: Map<string, TenantHead>,
): Verb<void> {
  const tenants: Value[][] = [];
  const types: Value[][] = [];
  for (const [tenant, growth] of growths) {
    const { seq } = heads.get(tenant) as TenantHead;
    tenants.push([tenant, 0, seq, growth.pending, growth.exempt, growth.bytes]);
    for (const [type, count] of growth.types) types.push([tenant, type, count]);
  }
  // The rows exist. An upsert updates any number of them in one statement.
  yield* insert(
    "tenants",
    TENANT_COLUMNS,
    tenants,
    "ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, " +
      "pending = tenants.pending + excluded.pending, " +
      "pending_exempt = tenants.pending_exempt + excluded.pending_exempt, bytes = tenants.bytes + excluded.bytes",
  );
  yield* insert(
    "pending_types",
    PENDING_COLUMNS,
    types,
    "ON CONFLICT (tenant_id, type) DO UPDATE SET count = pending_types.count + excluded.count",
  );
}
