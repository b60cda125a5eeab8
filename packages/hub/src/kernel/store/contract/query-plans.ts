/**
 * Lists the indexes that the operations on `events` must use. With them, the cost of an operation
 * depends on the size of the page or the batch, not on the number of stored events.
 */
import type { Dialect, Verb } from "../sql.ts";
import { verbTable } from "../verbs.ts";
import { appendRequest, DAY, START, sampleEvents } from "./sample.ts";

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
  { operation: "pending status", verb: (d) => verbTable(d).pendingStatus.run(tenant), indexes: ["events_pending"], sorts: "the types" },
  { operation: "the newest pending events", verb: (d) => verbTable(d).listEvents.run({ ...list, pending: true }), indexes: ["events_pending"] },
  { operation: "the next page of the newest pending events", verb: (d) => verbTable(d).listEvents.run({ ...list, pending: true, cursor: 9_000 }), indexes: ["events_pending"] },
  { operation: "the oldest pending events", verb: (d) => verbTable(d).listEvents.run({ ...list, pending: true, order: "oldest", cursor: 10 }), indexes: ["events_pending"] },
  { operation: "pending events of a type", verb: (d) => verbTable(d).listEvents.run({ ...list, pending: true, type: "rare" }), indexes: ["events_pending_type"] },
  { operation: "pending events of a repo", verb: (d) => verbTable(d).listEvents.run({ ...list, pending: true, repo: "acme/web" }), indexes: ["events_pending", "events_pending"] },
  { operation: "claimable events", verb: (d) => verbTable(d).listEvents.run({ ...list, pending: true, order: "oldest", claimableAt: START }), indexes: ["events_pending", "events_pending"] },
  { operation: "claimable events of a type", verb: (d) => verbTable(d).listEvents.run({ ...list, pending: true, order: "oldest", type: "rare", claimableAt: START }), indexes: ["events_pending_type", "events_pending_type"] },
  { operation: "processed events", verb: (d) => verbTable(d).listEvents.run({ ...list, pending: false }), indexes: ["events_done"] },
  { operation: "all events of a type", verb: (d) => verbTable(d).listEvents.run({ ...list, type: "rare" }), indexes: ["primary", "primary"], maySort: true },
  { operation: "processed events of a type", verb: (d) => verbTable(d).listEvents.run({ ...list, pending: false, type: "rare" }), indexes: ["events_done", "events_done"], maySort: true },
  { operation: "the types of pending events", verb: (d) => verbTable(d).listEventTypes.run(tenant, "", 100), indexes: ["events_pending_type"] },
  { operation: "all events after a cursor", verb: (d) => verbTable(d).listEvents.run({ ...list, order: "oldest", cursor: 19_000 }), indexes: ["primary"] },
  { operation: "an event by its id", verb: (d) => verbTable(d).getEvent.run(tenant, "id-1"), indexes: ["events_id"] },
  { operation: "a slice of a payload", verb: (d) => verbTable(d).slicePayload.run(tenant, 1, 0, 10), indexes: ["primary"] },
  { operation: "the payload of an event", verb: (d) => verbTable(d).getPayload.run(tenant, 1), indexes: ["primary"] },
  { operation: "marking events", verb: (d) => verbTable(d).markProcessed.run(tenant, ["id-1", "id-2", "none"], START, null), indexes: ["events_id", "events_id"] },
  { operation: "claiming events", verb: (d) => verbTable(d).claimEvents.run(claim), indexes: ["events_leased", "primary", "events_pending", "primary"] },
  { operation: "claiming events of a type", verb: (d) => verbTable(d).claimEvents.run({ ...claim, type: "rare" }), indexes: ["events_leased", "primary", "events_pending_type", "primary"] },
  { operation: "claiming an event by its id", verb: (d) => verbTable(d).claimEvent.run({ tenant, id: "id-3", by: "ada", now: START, until: START + 1 }), indexes: ["events_id", "events_id"] },
  { operation: "claiming a processed event by its id", verb: (d) => verbTable(d).claimEvent.run({ tenant, id: "id-1", by: "ada", now: START, until: START + 1 }), indexes: ["events_id", "events_id", "events_id"] },
  { operation: "marking a claimed event", verb: (d) => verbTable(d).markClaimedProcessed.run(tenant, "id-1", "ada", START, null), indexes: ["events_id", "events_id"] },
  { operation: "releasing events", verb: (d) => verbTable(d).releaseEvents.run(tenant, ["id-1", "id-2"], "ada"), indexes: ["events_id"] },
  { operation: "finding duplicates", verb: (d) => verbTable(d).appendEvents.run([appendRequest(sampleEvents(50), tenant)], null), indexes: ["events_external"] },
  { operation: "sweeping events", verb: (d) => verbTable(d).sweep.run(retention), indexes: ["events_processed", "events_id", "events_done", "primary"], sorts: "the tenants" },
  { operation: "sweeping the events of tenants", verb: (d) => verbTable(d).sweepTenants.run("", { now: 9_000 }, 100), indexes: ["events_done_at", "events_pending"] },
  { operation: "reopening events", verb: (d) => verbTable(d).reopenEvents.run(tenant, ["id-1", "id-2", "none"]), indexes: ["events_id", "events_id"] },
  { operation: "counting events between times", verb: (d) => verbTable(d).countReceived.run(tenant, [1, 4]), indexes: Array.from({ length: 31 }, () => "primary") },
  { operation: "the types of recent events", verb: (d) => verbTable(d).listRecentTypes.run(tenant, 100), indexes: ["primary"] },
  { operation: "searching pending events that started no run", verb: (d) => verbTable(d).searchEvents.run({ ...list, text: "lamp", processed: false, type: "rare", origin: "github", status: null }), indexes: ["events_pending", "events_pending"], maySort: true },
  { operation: "searching processed events", verb: (d) => verbTable(d).searchEvents.run({ ...list, processed: true, status: "failed" }), indexes: ["events_done", "events_done"], maySort: true },
  { operation: "searching events", verb: (d) => verbTable(d).searchEvents.run({ ...list, text: "lamp" }), indexes: ["primary", "primary"] },
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
