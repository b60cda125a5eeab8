/**
 * Stores a batch of arrivals in one transaction. The row of each tenant is locked first, so that
 * `seq` is handed out in commit order (whoever reads up to N has seen everything below N), the
 * quota is exact, and two replicas cannot store one delivery twice.
 */
import { createPacker, PACK_COLUMNS, type Packed } from "../packs.ts";
import type { TrippedTrigger } from "../run-store.ts";
import { type Dialect, insert, keyRows, notify, query, type Value, type Verb } from "../sql.ts";
import type { AppendRequest, AppendResult, NewEvent, StalePlan } from "../store.ts";
import type { Caused } from "./breakers.ts";
import { storeCauses } from "./causes.ts";
import { type Head, lockOrCreateTenants } from "./lock-tenants.ts";

interface Place {
  id: string;
  seq: number;
}

/** What a batch adds to one tenant. */
interface Growth {
  pending: number;
  bytes: number;
  types: Map<string, number>;
}

// biome-ignore format: in groups, as in the table
const EVENT_COLUMNS = [
  "tenant_id", "seq", "id", "source", "source_id", "external_id", "type", "received_at",
  "action", "repo", "sender", "number", "title", "url", "size", "pack", "pack_at", "meta_size",
];

export function* appendEvents(
  dialect: Dialect,
  batch: readonly AppendRequest[],
  defaultQuota: number | null,
): Verb<(AppendResult | StalePlan)[]> {
  const filled = batch.filter(({ events }) => events.length > 0);
  if (filled.length === 0) return batch.map(() => ({ outcome: "duplicate", events: [] }));
  const tenants = filled.map(({ tenant }) => tenant);
  const at = filled[0]?.events[0]?.received_at as number;
  const heads = yield* lockOrCreateTenants(dialect, tenants, at);
  const known = yield* findKnown(dialect, filled);
  const growths = new Map<string, Growth>();
  const events: Value[][] = [];
  const packer = createPacker(dialect);
  const caused: Caused[] = [];

  const outcomes = batch.map(
    ({ tenant, events: arrived, skipQuota, plan }): AppendResult | StalePlan => {
      const keys = arrived.map((event) => keyOf(tenant, event));
      const fresh = new Set<string>();
      for (const key of keys) if (!known.has(key)) fresh.add(key);
      if (fresh.size === 0)
        return { outcome: "duplicate", events: keys.map((key) => answer(known, key, true)) };

      const head = heads.get(tenant) as Head;
      if (plan && plan.revision !== head.triggers_rev) return { outcome: "stale" };
      const quota = skipQuota ? null : (head.quota ?? defaultQuota);
      if (quota !== null && head.pending + fresh.size > quota)
        return { outcome: "over_quota", pending: head.pending, quota };

      const growth = growths.get(tenant) ?? { pending: 0, bytes: 0, types: new Map() };
      growths.set(tenant, growth);
      const answers = arrived.map((event, nth) => {
        const key = keys[nth] as string;
        // The second of two twins finds the first in place.
        if (!fresh.delete(key)) return answer(known, key, true);
        head.seq += 1;
        head.pending += 1;
        growth.pending += 1;
        growth.bytes += event.body.byteLength;
        growth.types.set(event.type, (growth.types.get(event.type) ?? 0) + 1);
        events.push(eventValues(tenant, head.seq, event, packer.add(tenant, head.seq, event)));
        known.set(key, { id: event.id, seq: head.seq });
        const causes = plan?.events[nth];
        if (causes) caused.push({ ...causes, event_id: event.id, tenant, at: event.received_at });
        return answer(known, key, false);
      });
      return { outcome: "stored", events: answers };
    },
  );

  yield* insert("events", EVENT_COLUMNS, events);
  yield* insert("packs", PACK_COLUMNS, packer.finish());
  const tripped = yield* storeCauses(dialect, caused);
  yield* countUp(growths, heads);
  for (const tenant of growths.keys())
    yield* notify({ topic: "events", tenant, seq: (heads.get(tenant) as Head).seq });
  return tripped.length === 0 ? outcomes : outcomes.map((one) => tellTripped(one, tripped));
}

/** To those whose events stopped a trigger. */
function tellTripped(
  outcome: AppendResult | StalePlan,
  tripped: readonly TrippedTrigger[],
): AppendResult | StalePlan {
  if (outcome.outcome !== "stored") return outcome;
  const ids = new Set(outcome.events.flatMap(({ id, duplicate }) => (duplicate ? [] : [id])));
  const own = tripped.filter(({ event_id }) => ids.has(event_id));
  return own.length === 0 ? outcome : { ...outcome, tripped: own };
}

/** Which deliveries of the batch are in the log already, by the sender's own id for them. */
function* findKnown(dialect: Dialect, batch: readonly AppendRequest[]): Verb<Map<string, Place>> {
  const keys: Value[][] = [];
  for (const { tenant, events } of batch)
    for (const { source_id, external_id } of events)
      if (external_id !== null) keys.push([tenant, source_id, external_id]);

  const known = new Map<string, Place>();
  for (const { values, params } of keyRows(keys, dialect)) {
    const rows = yield* query<
      Place & { tenant_id: string; source_id: string; external_id: string }
    >(
      "SELECT e.id, e.seq, e.tenant_id, e.source_id, e.external_id " +
        `FROM (VALUES ${values}) k JOIN events e ` +
        "ON e.tenant_id = k.column1 AND e.source_id = k.column2 AND e.external_id = k.column3",
      params,
    );
    for (const row of rows) known.set(keyOf(row.tenant_id, row), { id: row.id, seq: row.seq });
  }
  return known;
}

/** An event without a sender's id is only ever equal to itself. The lengths keep the parts apart. */
const keyOf = (
  tenant: string,
  event: Pick<NewEvent, "id" | "source_id" | "external_id">,
): string =>
  event.external_id === null
    ? event.id
    : `${tenant.length},${event.source_id.length},${tenant}${event.source_id}${event.external_id}`;

const answer = (known: Map<string, Place>, key: string, duplicate: boolean) => {
  const { id, seq } = known.get(key) as Place;
  return { id, seq, duplicate };
};

// biome-ignore format: in the order of EVENT_COLUMNS
const eventValues = (tenant: string, seq: number, event: NewEvent, place: Packed): Value[] => [
  tenant, seq, event.id, event.source, event.source_id, event.external_id, event.type, event.received_at,
  event.action, event.repo, event.sender, event.number, event.title, event.url, event.body.byteLength,
  place.pack, place.pack_at, place.meta_size,
];

function* countUp(growths: Map<string, Growth>, heads: Map<string, Head>): Verb<void> {
  const tenants: Value[][] = [];
  const types: Value[][] = [];
  for (const [tenant, growth] of growths) {
    const { seq } = heads.get(tenant) as Head;
    tenants.push([tenant, 0, seq, growth.pending, growth.bytes]);
    for (const [type, count] of growth.types) types.push([tenant, type, count]);
  }
  // The rows of the tenants are there; put like this, any number of them is one statement.
  yield* insert(
    "tenants",
    ["id", "created_at", "seq", "pending", "bytes"],
    tenants,
    "ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, " +
      "pending = tenants.pending + excluded.pending, bytes = tenants.bytes + excluded.bytes",
  );
  yield* insert(
    "pending_types",
    ["tenant_id", "type", "count"],
    types,
    "ON CONFLICT (tenant_id, type) DO UPDATE SET count = pending_types.count + excluded.count",
  );
}
