/**
 * Lists the indexes that the operations on `events` must use. With them, the cost of an operation
 * depends on the size of the page or the batch, not on the number of stored events.
 */

import { tablesOf } from "../../../kernel/store/schema.ts";
import type { Dialect, Verb } from "../../../kernel/store/sql.ts";
import { createStoreCache } from "../../../kernel/store/store-cache.ts";
import type { VerbContext } from "../../../kernel/store/verb.ts";
import { storeDefinition } from "../../../store.ts";
import { appendRequest, DAY, START, sampleEvents } from "./sample.ts";

export const contextOf = (dialect: Dialect): VerbContext => ({
  dialect,
  tables: tablesOf(storeDefinition),
  cache: createStoreCache(),
});

export interface PlanCase {
  operation: string;
  verb(dialect: Dialect): Verb<unknown>;
  /** The index of each access to `events`. `primary` is the primary key. */
  indexes: string[];
  /** Names the rows that a statement sorts, if any. It must not sort events. */
  sorts?: string;
  /** True if PostgreSQL may sort the few events that it expects in a bounded part of the log. */
  maySort?: boolean;
}

const tenant = "acme";
const list = { tenant, limit: 20 } as const;
const claim = { tenant, by: "ada", limit: 10, now: START, until: START + 1 };
/** With these settings, no event is removed because of its age, but all because of the maximum bytes. */
const retention = { now: 0, processedFor: 3 * DAY, pendingFor: 90 * DAY, maxBytes: 1, limit: 100 };

// biome-ignore format: a table
export const planCases: PlanCase[] = [
  { operation: "pending status", verb: (d) => storeDefinition.pendingStatus.call(contextOf(d), tenant), indexes: ["events_pending"], sorts: "the types" },
  { operation: "the newest pending events", verb: (d) => storeDefinition.listEvents.call(contextOf(d), { ...list, pending: true }), indexes: ["events_pending"] },
  { operation: "the next page of the newest pending events", verb: (d) => storeDefinition.listEvents.call(contextOf(d), { ...list, pending: true, cursor: 9_000 }), indexes: ["events_pending"] },
  { operation: "the oldest pending events", verb: (d) => storeDefinition.listEvents.call(contextOf(d), { ...list, pending: true, order: "oldest", cursor: 10 }), indexes: ["events_pending"] },
  { operation: "pending events of a type", verb: (d) => storeDefinition.listEvents.call(contextOf(d), { ...list, pending: true, type: "rare" }), indexes: ["events_pending_type"] },
  { operation: "pending events of a repo", verb: (d) => storeDefinition.listEvents.call(contextOf(d), { ...list, pending: true, repo: "acme/web" }), indexes: ["events_pending", "events_pending"] },
  { operation: "claimable events", verb: (d) => storeDefinition.listEvents.call(contextOf(d), { ...list, pending: true, order: "oldest", claimableAt: START }), indexes: ["events_pending", "events_pending"] },
  { operation: "claimable events of a type", verb: (d) => storeDefinition.listEvents.call(contextOf(d), { ...list, pending: true, order: "oldest", type: "rare", claimableAt: START }), indexes: ["events_pending_type", "events_pending_type"] },
  { operation: "processed events", verb: (d) => storeDefinition.listEvents.call(contextOf(d), { ...list, pending: false }), indexes: ["events_done"] },
  { operation: "all events of a type", verb: (d) => storeDefinition.listEvents.call(contextOf(d), { ...list, type: "rare" }), indexes: ["primary", "primary"], maySort: true },
  { operation: "processed events of a type", verb: (d) => storeDefinition.listEvents.call(contextOf(d), { ...list, pending: false, type: "rare" }), indexes: ["events_done", "events_done"], maySort: true },
  { operation: "the types of pending events", verb: (d) => storeDefinition.listEventTypes.call(contextOf(d), tenant, "", 100), indexes: ["events_pending_type"] },
  { operation: "all events after a cursor", verb: (d) => storeDefinition.listEvents.call(contextOf(d), { ...list, order: "oldest", cursor: 19_000 }), indexes: ["primary"] },
  { operation: "an event by its id", verb: (d) => storeDefinition.getEvent.call(contextOf(d), tenant, "id-1"), indexes: ["events_id"] },
  { operation: "a slice of a payload", verb: (d) => storeDefinition.slicePayload.call(contextOf(d), tenant, 1, 0, 10), indexes: ["primary"] },
  { operation: "the payload of an event", verb: (d) => storeDefinition.getPayload.call(contextOf(d), tenant, 1), indexes: ["primary"] },
  { operation: "marking events", verb: (d) => storeDefinition.markProcessed.call(contextOf(d), tenant, ["id-1", "id-2", "none"], START, null), indexes: ["events_id", "events_id"] },
  { operation: "claiming events", verb: (d) => storeDefinition.claimEvents.call(contextOf(d), claim), indexes: ["events_leased", "primary", "events_pending", "primary"] },
  { operation: "claiming events of a type", verb: (d) => storeDefinition.claimEvents.call(contextOf(d), { ...claim, type: "rare" }), indexes: ["events_leased", "primary", "events_pending_type", "primary"] },
  { operation: "claiming an event by its id", verb: (d) => storeDefinition.claimEvent.call(contextOf(d), { tenant, id: "id-3", by: "ada", now: START, until: START + 1 }), indexes: ["events_id", "events_id"] },
  { operation: "claiming a processed event by its id", verb: (d) => storeDefinition.claimEvent.call(contextOf(d), { tenant, id: "id-1", by: "ada", now: START, until: START + 1 }), indexes: ["events_id", "events_id", "events_id"] },
  { operation: "marking a claimed event", verb: (d) => storeDefinition.markClaimedProcessed.call(contextOf(d), tenant, "id-1", "ada", START, null), indexes: ["events_id", "events_id"] },
  { operation: "releasing events", verb: (d) => storeDefinition.releaseEvents.call(contextOf(d), tenant, ["id-1", "id-2"], "ada"), indexes: ["events_id"] },
  { operation: "finding duplicates", verb: (d) => storeDefinition.appendEvents.call(contextOf(d), [appendRequest(sampleEvents(50), tenant)], null), indexes: ["events_external"] },
  { operation: "sweeping events", verb: (d) => storeDefinition.sweep.call(contextOf(d), retention), indexes: ["events_processed", "events_id", "events_done", "primary"], sorts: "the tenants" },
  { operation: "sweeping the events of tenants", verb: (d) => storeDefinition.sweepTenants.call(contextOf(d), "", { now: 9_000 }, 100), indexes: ["events_done_at", "events_pending"] },
  { operation: "reopening events", verb: (d) => storeDefinition.reopenEvents.call(contextOf(d), tenant, ["id-1", "id-2", "none"]), indexes: ["events_id", "events_id"] },
  { operation: "counting events between times", verb: (d) => storeDefinition.countReceived.call(contextOf(d), tenant, [1, 4]), indexes: Array.from({ length: 31 }, () => "primary") },
  { operation: "the types of recent events", verb: (d) => storeDefinition.listRecentTypes.call(contextOf(d), tenant, 100), indexes: ["primary"] },
  { operation: "searching pending events that started no run", verb: (d) => storeDefinition.searchEvents.call(contextOf(d), { ...list, text: "lamp", processed: false, type: "rare", origin: "github", status: null }), indexes: ["events_pending", "events_pending"], maySort: true },
  { operation: "searching processed events", verb: (d) => storeDefinition.searchEvents.call(contextOf(d), { ...list, processed: true, status: "failed" }), indexes: ["events_done", "events_done"], maySort: true },
  { operation: "searching events", verb: (d) => storeDefinition.searchEvents.call(contextOf(d), { ...list, text: "lamp" }), indexes: ["primary", "primary"] },
];

/** Two thirds of the events are processed, one in a thousand has a rare type and repo, a few are leased. */
export const FILL_EVENTS = [
  `INSERT INTO tenants (id, created_at, seq, pending, bytes) VALUES ('${tenant}', 0, 30000, 9000, 270000)`,
  "INSERT INTO tenants (id, created_at, processed_for, pending_for) VALUES ('umbrella', 0, 9000, 9000)",
  `WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < 30000)
   INSERT INTO events (tenant_id, seq, id, source, source_id, external_id, type, received_at, repo,
     title, size, pack, pack_at, meta_size, processed, processed_at, claimed_by, claimed_until)
   SELECT CASE WHEN n % 10 = 0 THEN 'umbrella' ELSE '${tenant}' END, n, 'id-' || n, 'github', 'github',
     'delivery-' || n, CASE WHEN n % 1000 = 1 THEN 'rare' ELSE 'common' END, n,
     CASE WHEN n % 1000 = 1 THEN 'acme/rare' ELSE 'acme/web' END, 'The lamp is broken', 10, n, 0, 2,
     CASE WHEN n % 3 = 0 THEN 0 ELSE 1 END, n, CASE WHEN n % 500 = 0 THEN 'ada' END,
     CASE WHEN n % 500 = 0 THEN n ELSE 0 END
   FROM series`,
];
