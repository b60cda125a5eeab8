/**
 * The indexes that the operations on `events` must use, so that their cost depends on the size of the
 * page or the batch, not on the backlog.
 */
import type { Dialect, Verb } from "../sql.ts";
import { verbTable } from "../verbs/index.ts";
import { appendRequest, DAY, START, sampleEvents } from "./sample.ts";

export interface PlanCase {
  what: string;
  verb(dialect: Dialect): Verb<unknown>;
  /** One for each access to the table. `primary` is its primary key. */
  indexes: string[];
  /** What a statement sorts, if anything. It must not sort events. */
  sorts?: string;
  /** PostgreSQL may sort the few rows that it expects in a bounded part of the log. */
  maySort?: boolean;
}

const tenant = "acme";
const list = { tenant, limit: 20 } as const;
const claim = { tenant, by: "ada", limit: 10, now: START, until: START + 1 };
/** Retention removes no event because of its age, but all because of the maximum bytes. */
const retention = { now: 0, processedFor: 3 * DAY, pendingFor: 90 * DAY, maxBytes: 1, limit: 100 };

// biome-ignore format: a table
export const planCases: PlanCase[] = [
  { what: "pending status", verb: (d) => verbTable(d).pendingStatus.run(tenant), indexes: ["events_pending"], sorts: "the types" },
  { what: "the newest pending events", verb: (d) => verbTable(d).listEvents.run({ ...list, pending: true }), indexes: ["events_pending"] },
  { what: "the next page of the newest pending events", verb: (d) => verbTable(d).listEvents.run({ ...list, pending: true, cursor: 9_000 }), indexes: ["events_pending"] },
  { what: "the oldest pending events", verb: (d) => verbTable(d).listEvents.run({ ...list, pending: true, order: "oldest", cursor: 10 }), indexes: ["events_pending"] },
  { what: "pending events of a type", verb: (d) => verbTable(d).listEvents.run({ ...list, pending: true, type: "rare" }), indexes: ["events_pending_type"] },
  { what: "pending events of a repo", verb: (d) => verbTable(d).listEvents.run({ ...list, pending: true, repo: "acme/web" }), indexes: ["events_pending", "events_pending"] },
  { what: "claimable events", verb: (d) => verbTable(d).listEvents.run({ ...list, pending: true, order: "oldest", claimableAt: START }), indexes: ["events_pending", "events_pending"] },
  { what: "claimable events of a type", verb: (d) => verbTable(d).listEvents.run({ ...list, pending: true, order: "oldest", type: "rare", claimableAt: START }), indexes: ["events_pending_type", "events_pending_type"] },
  { what: "processed events", verb: (d) => verbTable(d).listEvents.run({ ...list, pending: false }), indexes: ["events_done"] },
  { what: "all events of a type", verb: (d) => verbTable(d).listEvents.run({ ...list, type: "rare" }), indexes: ["primary", "primary"], maySort: true },
  { what: "processed events of a type", verb: (d) => verbTable(d).listEvents.run({ ...list, pending: false, type: "rare" }), indexes: ["events_done", "events_done"], maySort: true },
  { what: "the types of pending events", verb: (d) => verbTable(d).listEventTypes.run(tenant, "", 100), indexes: ["events_pending_type"] },
  { what: "all events after a cursor", verb: (d) => verbTable(d).listEvents.run({ ...list, order: "oldest", cursor: 19_000 }), indexes: ["primary"] },
  { what: "an event by its id", verb: (d) => verbTable(d).getEvent.run(tenant, "id-1"), indexes: ["events_id"] },
  { what: "a slice of a payload", verb: (d) => verbTable(d).slicePayload.run(tenant, 1, 0, 10), indexes: ["primary"] },
  { what: "the payload of an event", verb: (d) => verbTable(d).getPayload.run(tenant, 1), indexes: ["primary"] },
  { what: "marking events", verb: (d) => verbTable(d).markProcessed.run(tenant, ["id-1", "id-2", "none"], START, null), indexes: ["events_id", "events_id"] },
  { what: "claiming events", verb: (d) => verbTable(d).claimEvents.run(claim), indexes: ["events_leased", "primary", "events_pending", "primary"] },
  { what: "claiming events of a type", verb: (d) => verbTable(d).claimEvents.run({ ...claim, type: "rare" }), indexes: ["events_leased", "primary", "events_pending_type", "primary"] },
  { what: "claiming an event by its id", verb: (d) => verbTable(d).claimEvent.run({ tenant, id: "id-3", by: "ada", now: START, until: START + 1 }), indexes: ["events_id", "events_id"] },
  { what: "claiming a processed event by its id", verb: (d) => verbTable(d).claimEvent.run({ tenant, id: "id-1", by: "ada", now: START, until: START + 1 }), indexes: ["events_id", "events_id", "events_id"] },
  { what: "marking a claimed event", verb: (d) => verbTable(d).markClaimed.run(tenant, "id-1", "ada", START, null), indexes: ["events_id", "events_id"] },
  { what: "releasing events", verb: (d) => verbTable(d).releaseEvents.run(tenant, ["id-1", "id-2"], "ada"), indexes: ["events_id"] },
  { what: "finding duplicates", verb: (d) => verbTable(d).appendEvents.run([appendRequest(sampleEvents(50), tenant)], null), indexes: ["events_external"] },
  { what: "sweeping events", verb: (d) => verbTable(d).sweep.run(retention), indexes: ["events_processed", "events_id", "events_done", "primary"], sorts: "the tenants" },
  { what: "sweeping the events of tenants", verb: (d) => verbTable(d).sweepTenants.run("", 9_000, 100), indexes: ["events_done_at", "events_pending"] },
  { what: "reopening events", verb: (d) => verbTable(d).reopenEvents.run(tenant, ["id-1", "id-2", "none"]), indexes: ["events_id", "events_id"] },
  { what: "counting events between times", verb: (d) => verbTable(d).countReceived.run(tenant, [1, 4]), indexes: Array.from({ length: 31 }, () => "primary") },
  { what: "the types of recent events", verb: (d) => verbTable(d).listRecentTypes.run(tenant, 100), indexes: ["primary"] },
  { what: "searching pending events that started no run", verb: (d) => verbTable(d).searchEvents.run({ ...list, text: "lamp", processed: false, type: "rare", sender: "github", status: null }), indexes: ["events_pending", "events_pending"], maySort: true },
  { what: "searching processed events", verb: (d) => verbTable(d).searchEvents.run({ ...list, processed: true, status: "failed" }), indexes: ["events_done", "events_done"], maySort: true },
  { what: "searching events", verb: (d) => verbTable(d).searchEvents.run({ ...list, text: "lamp" }), indexes: ["primary", "primary"] },
];

/** Two thirds are processed, one in a thousand has a rare type and repo, a few are leased. */
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
