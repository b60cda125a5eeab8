/**
 * Lists the indexes that the operations on flows and runs must use. No statement may scan a table, so
 * that the cost of an operation does not depend on the number of stored rows.
 */

import { contextOf } from "../../../../events/store/contract/query-plans.ts";
import { START } from "../../../../events/store/contract/sample.ts";
import type { Dialect, Verb } from "../../../../kernel/store/sql.ts";
import { storeDefinition } from "../../../../store.ts";
import { loadLoopGuard, type PlannedEvent } from "../../../matching/store/breakers.ts";
import { intents, publication, setDraft } from "../../../store/contract/flow-sample.ts";
import { findExcess } from "../../../store/retention.ts";
import { ALL_SHARES } from "../../model.ts";
import { claimRuns } from "../claim-runs.ts";
import { sampleRun, sampleRuns, succeeded } from "./run-sample.ts";

export interface RunPlanCase {
  operation: string;
  verb(dialect: Dialect): Verb<unknown>;
  /** The indexes that the operation uses. The name of a table, such as `runs`, is its primary key. */
  indexes: string[];
  /** An engine may also choose this index, which reads the same bounded range. */
  orIndex?: string;
}

/** For few rows, an engine may use one of these indexes instead of the primary key of the table. */
const EQUIVALENT: Record<string, string> = {
  runs_tenant: "runs",
  runs_worker: "runs",
  flow_queues_next: "flow_queues_due",
  steps_nth: "steps",
  flows_tenant: "flows",
  connections_owner: "connections",
};

/** Returns the used indexes without duplicates, with the names that `planCase` expects. */
export const normalizeIndexes = (planCase: RunPlanCase, used: readonly string[]): string[] =>
  [
    ...new Set(
      used.map((index) =>
        planCase.indexes.includes(index) ? index : (EQUIVALENT[index] ?? index),
      ),
    ),
    // `tenants` is omitted, because each engine locks its rows differently.
  ].filter((index) => index !== "tenants" && index !== planCase.orIndex);

const tenant = "acme";
const list = { tenant, limit: 20 };
const after = { flow_id: "flow-7", node_id: "node-7" };
const origin = { id: "id-7", sources: ["source-7", "github"], type: "type-7" };
const lease = { worker: "worker-7", now: START, until: START + 60 };
const flow = { tenant, id: "flow-7" };
/** A running run in a lane, started by an event. */
const RUNNING = "run-00500";
const save = { run: RUNNING, claim: 1, steps: [], now: START, next: succeeded };
const queued = [
  sampleRun({ key: "key-5", event_id: "id-5" }),
  sampleRun({ gather: { lane: "lane-14" } }),
  ...sampleRuns(20),
];
const limited = (["skip", "replace"] as const).map((whenFull) =>
  sampleRun({ event_id: "id-5", limit: { lane: "lane-14", max: 1, whenFull } }),
);
const reason = { on: "breaker", holds: false, message: "" } as const;
const breaker = { limit: "loops", max: 30, reason } as const;
const looping = {
  flow_id: "flow-7",
  node_id: "node-7",
  version: 1,
  matched: true,
  reasons: [],
  breaker,
};
const { breaker: _breaker, ...unlimited } = looping;
const event = {
  tenant,
  event_id: "id-5",
  at: START,
  isOfConnection: true,
  verdicts: [looping],
  reasons: ["[]"],
  runs: sampleRuns(1),
};
function* countRuns(dialect: Dialect, event: PlannedEvent): Verb<void> {
  const guard = yield* loadLoopGuard(dialect, [event]);
  for (const run of event.runs) guard.count(run);
  yield* guard.save();
}
function* claimAndLoad(dialect: Dialect): Verb<void> {
  for (const read of yield* claimRuns.call(contextOf(dialect), lease, 10, ALL_SHARES))
    yield* read();
}
const EVENT_STATUS = ["run_events_run", "events_id", "run_events", "runs"];

// biome-ignore format: a table
export const runPlanCases: RunPlanCase[] = [
  { operation: "claiming runs", verb: claimAndLoad, indexes: ["runs_leased", "queues_due", "app_queues_due", "flow_queues_due", "runs_due", "runs_lane", "queues", "app_queues", "flow_queues", "flow_versions", "steps_nth", ...EVENT_STATUS], orIndex: "flow_queues_next" },
  { operation: "renewing leases", verb: (d) => storeDefinition.renewRuns.call(contextOf(d), lease, [RUNNING, "run-03500"]), indexes: ["runs"] },
  { operation: "releasing runs", verb: (d) => storeDefinition.releaseRuns.call(contextOf(d), "worker-7", START), indexes: ["runs_worker", ...EVENT_STATUS] },
  { operation: "the time of the next due run", verb: (d) => storeDefinition.nextDue.call(contextOf(d)), indexes: ["queues_due", "runs_leased"] },
  { operation: "saving progress", verb: (d) => storeDefinition.saveProgress.call(contextOf(d), [save, { ...save, run: "run-01500" }]), indexes: ["runs_called", "runs_lane", "steps", ...EVENT_STATUS] },
  { operation: "queueing runs", verb: (d) => storeDefinition.queueRuns.call(contextOf(d), queued), indexes: ["runs_key", "runs_gather", ...EVENT_STATUS] },
  { operation: "queueing runs in limited lanes", verb: (d) => storeDefinition.queueRuns.call(contextOf(d), limited), indexes: ["runs_lane", "steps", ...EVENT_STATUS] },
  { operation: "starting a run", verb: (d) => storeDefinition.startRun.call(contextOf(d), sampleRun({ key: "key" }), lease), indexes: ["runs_key", "runs", "flow_versions"] },
  { operation: "starting a run in a limited lane", verb: (d) => storeDefinition.startInLane.call(contextOf(d), sampleRun({ key: "key", limit: { lane: "lane-14", max: 1, whenFull: "replace" } }), lease), indexes: ["runs_key", "runs_lane", "steps", ...EVENT_STATUS] },
  { operation: "starting a run in an empty lane", verb: (d) => storeDefinition.startInLane.call(contextOf(d), sampleRun({ limit: { lane: "empty", max: 1 } }), lease), indexes: ["runs_lane", "runs", "flow_versions"] },
  { operation: "cancelling a run", verb: (d) => storeDefinition.cancelRun.call(contextOf(d), tenant, "run-00002", START), indexes: ["runs_called", "steps", "runs_lane", ...EVENT_STATUS] },
  { operation: "retrying a run", verb: (d) => storeDefinition.retryRun.call(contextOf(d), tenant, "run-00003", START), indexes: ["steps", ...EVENT_STATUS] },
  { operation: "sweeping runs", verb: (d) => storeDefinition.sweepRuns.call(contextOf(d), 100, 50), indexes: ["runs_ended", "runs", "steps", "run_events_run"] },
  { operation: "the oldest events and runs of a tenant above its maximum bytes", verb: () => findExcess({ id: tenant, bytes: 2, max_bytes: 1 }, 100), indexes: ["events_done", "matching_events", "run_events", "runs", "runs_stored"] },
  { operation: "a run by its key", verb: (d) => storeDefinition.findRun.call(contextOf(d), tenant, "key-7"), indexes: ["runs_key"] },
  { operation: "the newest runs", verb: (d) => storeDefinition.listRuns.call(contextOf(d), { ...list, tenant: "tenant-9" }), indexes: ["runs_tenant"] },
  { operation: "the next page of the newest runs", verb: (d) => storeDefinition.listRuns.call(contextOf(d), { ...list, tenant: "tenant-9", before: "run-15000" }), indexes: ["runs_tenant"] },
  { operation: "summaries of the newest runs", verb: (d) => storeDefinition.listRunSummaries.call(contextOf(d), { ...list, tenant: "tenant-9" }), indexes: ["runs_tenant", "flows", "triggers"] },
  { operation: "summaries of runs by status and time", verb: (d) => storeDefinition.listRunSummaries.call(contextOf(d), { ...list, status: "failed", from: "run-01000" }), indexes: ["runs_status", "flows", "triggers"] },
  { operation: "summaries of the runs of a flow by cause", verb: (d) => storeDefinition.listRunSummaries.call(contextOf(d), { ...list, flow: "flow-7", cause: "api" }), indexes: ["runs_flow", "flows", "triggers"] },
  { operation: "summaries of the runs of a flow by status", verb: (d) => storeDefinition.listRunSummaries.call(contextOf(d), { ...list, flow: "flow-7", app: "app-7", status: "failed" }), indexes: ["runs_flow", "flows", "triggers"] },
  { operation: "summaries of the runs of an app by status", verb: (d) => storeDefinition.listRunSummaries.call(contextOf(d), { ...list, app: "app-7", status: "failed", from: "run-01000" }), indexes: ["runs_app", "flows", "triggers"] },
  { operation: "summaries of the runs of an event by status", verb: (d) => storeDefinition.listRunSummaries.call(contextOf(d), { ...list, event: "id-7", status: "failed" }), indexes: ["run_events", "runs", "flows", "triggers"] },
  { operation: "the last runs of flows", verb: (d) => storeDefinition.lastRuns.call(contextOf(d), tenant, ["flow-7", "flow-8"]), indexes: ["runs_flow", "flows", "runs", "triggers"] },
  { operation: "counting runs by time", verb: (d) => storeDefinition.countRunsByPeriod.call(contextOf(d), tenant, "run-29000", 7, 100), indexes: ["runs_status"], orIndex: "runs" },
  { operation: "the times of ended runs", verb: (d) => storeDefinition.listRunTimes.call(contextOf(d), tenant, "run-29000", 100), indexes: ["runs"], orIndex: "runs_status" },
  { operation: "the states of drafts", verb: (d) => storeDefinition.listDraftStates.call(contextOf(d), tenant, ["flow-7", "flow-8"]), indexes: ["flows", "flow_versions"] },
  { operation: "the owner of a tool name", verb: (d) => storeDefinition.findToolOwner.call(contextOf(d), tenant, "app-7", "tool-7", START), indexes: ["tool_names"] },
  { operation: "runs of a flow", verb: (d) => storeDefinition.listRuns.call(contextOf(d), { ...list, flow: "flow-7" }), indexes: ["runs_flow"] },
  { operation: "runs of an app", verb: (d) => storeDefinition.listRuns.call(contextOf(d), { ...list, app: "app-7", before: "run-15000" }), indexes: ["runs_app"] },
  { operation: "runs of a token", verb: (d) => storeDefinition.listRuns.call(contextOf(d), { ...list, app: "app-7", token: "token-7", before: "run-15000" }), indexes: ["runs_token"] },
  { operation: "runs by status", verb: (d) => storeDefinition.listRuns.call(contextOf(d), { ...list, status: "failed" }), indexes: ["runs_status"] },
  { operation: "runs of an event", verb: (d) => storeDefinition.listRuns.call(contextOf(d), { ...list, event: "id-7" }), indexes: ["run_events", "runs"] },
  { operation: "the steps of a run", verb: (d) => storeDefinition.listSteps.call(contextOf(d), tenant, RUNNING, { open: [1] }), indexes: ["runs", "steps_nth"] },
  { operation: "a value of a step", verb: (d) => storeDefinition.readValue.call(contextOf(d), { tenant, run: RUNNING, nth: 1, field: "output" }), indexes: ["runs", "steps_nth"] },
  { operation: "the output of a step", verb: (d) => storeDefinition.loadOutput.call(contextOf(d), RUNNING, { node_id: "", item: "", attempt: 1 }), indexes: ["steps"] },
  { operation: "the verdicts of an event", verb: (d) => storeDefinition.listVerdicts.call(contextOf(d), tenant, "id-7"), indexes: ["verdicts"] },
  { operation: "triggers for an event", verb: (d) => storeDefinition.findTriggers.call(contextOf(d), tenant, ["source-7", "github"], "type-7"), indexes: ["triggers_event"] },
  { operation: "a page of triggers for an event", verb: (d) => storeDefinition.findTriggers.call(contextOf(d), tenant, ["source-7", "github"], "type-7", { after, limit: 20 }), indexes: ["triggers_event"] },
  { operation: "a page of the matches of an event", verb: (d) => storeDefinition.listVerdicts.call(contextOf(d), tenant, "id-7", { matched: true, after, limit: 20 }), indexes: ["verdicts"] },
  { operation: "triggers without a verdict that listen to an event", verb: (d) => storeDefinition.listEventTriggers.call(contextOf(d), tenant, origin, { listening: true, after, limit: 20 }), indexes: ["triggers_event", "verdicts"] },
  { operation: "other triggers without a verdict on an event", verb: (d) => storeDefinition.listEventTriggers.call(contextOf(d), tenant, origin, { listening: false, after, limit: 20 }), indexes: ["triggers_tenant", "verdicts"] },
  { operation: "other triggers of a flow without a verdict on an event", verb: (d) => storeDefinition.listEventTriggers.call(contextOf(d), tenant, origin, { listening: false, flow: "flow-7", limit: 20 }), indexes: ["triggers_tenant", "verdicts"], orIndex: "triggers" },
  { operation: "counting the verdicts on an event", verb: (d) => storeDefinition.countVerdicts.call(contextOf(d), tenant, "id-7"), indexes: ["events_id", "verdicts", "triggers", "triggers_tenant"], orIndex: "triggers_event" },
  { operation: "the states of a flow's triggers", verb: (d) => storeDefinition.listTriggerStates.call(contextOf(d), tenant, "flow-7"), indexes: ["triggers", "trigger_subscriptions_flow", "trigger_firings", "schedules", "runs_flow"] },
  { operation: "the tools of an app", verb: (d) => storeDefinition.listTools.call(contextOf(d), tenant, "app-7", "tool-1", 20), indexes: ["triggers_tool"] },
  { operation: "a tool", verb: (d) => storeDefinition.findTool.call(contextOf(d), tenant, "app-7", "tool-7", START), indexes: ["triggers_tool"] },
  { operation: "a tool by an alias", verb: (d) => storeDefinition.findTool.call(contextOf(d), tenant, "app-7", "former-7", START), indexes: ["triggers_tool", "tool_names", "triggers"] },
  { operation: "triggers that were stopped", verb: (d) => storeDefinition.listTrips.call(contextOf(d), tenant, ["flow-7", "flow-8"], 0), indexes: ["breakers"] },
  { operation: "checking events without circuit breakers", verb: (d) => countRuns(d, { ...event, verdicts: [unlimited] }), indexes: [] },
  { operation: "counting runs for circuit breakers", verb: (d) => countRuns(d, event), indexes: ["breakers"] },
  { operation: "apps of a tenant", verb: (d) => storeDefinition.listApps.call(contextOf(d), tenant, "app-1", 20), indexes: ["apps"] },
  { operation: "flows of a tenant", verb: (d) => storeDefinition.listFlows.call(contextOf(d), tenant, { after: "flow-1", limit: 20 }), indexes: ["flows_tenant"] },
  { operation: "flows of an app", verb: (d) => storeDefinition.listFlows.call(contextOf(d), tenant, { app: "app-7", limit: 20 }), indexes: ["flows_app"] },
  { operation: "a version", verb: (d) => storeDefinition.getVersion.call(contextOf(d), tenant, "flow-7", 1), indexes: ["flows", "flow_versions"] },
  { operation: "editing a flow", verb: (d) => storeDefinition.editFlow.call(contextOf(d), flow, START, setDraft("A", intents("New"))), indexes: ["flows", "apps", "tool_names", "tool_names_flow", "triggers"] },
  { operation: "publishing a flow", verb: (d) => storeDefinition.publishFlow.call(contextOf(d), flow, publication({ graph: intents() })), indexes: ["flows", "apps", "flow_versions", "tool_names_flow", "triggers", "schedules", "breakers", "trigger_subscriptions_flow"] },
  { operation: "saving the graph of a draft's run", verb: (d) => storeDefinition.saveDraftVersion.call(contextOf(d), flow, { graph: intents(), by: "", at: START }), indexes: ["flows", "apps", "flow_versions"] },
  { operation: "deleting a flow", verb: (d) => storeDefinition.deleteFlow.call(contextOf(d), flow, START), indexes: ["flows", "apps", "tool_names_flow", "triggers", "schedules", "breakers", "trigger_subscriptions_flow"] },
  { operation: "sweeping deleted flows", verb: (d) => storeDefinition.sweepFlows.call(contextOf(d), START, 50), indexes: ["flows_deleted", "runs_flow", "flows", "flow_versions", "trigger_firings"] },
  { operation: "due schedules", verb: (d) => storeDefinition.fireSchedules.call(contextOf(d), START, 20, () => ({ run: undefined, next_at: null })), indexes: ["schedules_due", "schedules", "triggers"] },
  { operation: "the next due schedule", verb: (d) => storeDefinition.nextScheduleDue.call(contextOf(d)), indexes: ["schedules_due"] },
  { operation: "the time of the next due run of other flows", verb: (d) => storeDefinition.nextDue.call(contextOf(d), START), indexes: ["flow_queues_next", "runs_leased"] },
  { operation: "events that are not matched yet", verb: (d) => storeDefinition.claimMatching.call(contextOf(d), { now: START, until: START + 1, limit: 20, after: "", room: () => 5 }), indexes: ["matching_events_tenant"], orIndex: "matching_events" },
  { operation: "storing the runs of a slow filter", verb: (d) => storeDefinition.finishMatching.call(contextOf(d), [{ tenant, id: "id-7", attempts: 1, revision: 1, plan: { verdicts: [], runs: [] } }]), indexes: ["matching_events", "events_id"] },
  { operation: "when the next event can be matched", verb: (d) => storeDefinition.nextMatchingDue.call(contextOf(d)), indexes: ["matching_events_due"] },
  { operation: "triggers that are not compared with an event yet", verb: (d) => storeDefinition.listDeferred.call(contextOf(d), tenant, "id-7"), indexes: ["matching_events"] },
  { operation: "the queue of a tenant", verb: (d) => storeDefinition.readQueue.call(contextOf(d), tenant, START, 100), indexes: ["flow_queues_due", "runs_due", "runs_held", "run_waits", "flows"], orIndex: "flow_queues" },
  { operation: "the queues of all tenants", verb: (d) => storeDefinition.measureQueues.call(contextOf(d), START, 100), indexes: ["flow_queues_next", "runs_due"] },
  { operation: "schedules of flows", verb: (d) => storeDefinition.listSchedules.call(contextOf(d), tenant, ["flow-7", "flow-8"]), indexes: ["schedules"] },
  { operation: "secrets by name", verb: (d) => storeDefinition.getSecrets.call(contextOf(d), tenant, ["secret-7", "secret-8"]), indexes: ["secrets"] },
];

export const series = (count: number) =>
  `WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < ${count})`;
/** The id of the run with the number n. */
const RUN_ID = "substr('run-00000', 1, 9 - length('' || n)) || n";

/** Most runs have ended, a few are running or held, and the others are queued or waiting. */
export const FILL_RUNS = [
  `${series(3000)} INSERT INTO tenants (id, created_at, triggers_rev) SELECT 'tenant-' || n, 0, 1 FROM series`,
  `INSERT INTO tenants (id, created_at, triggers_rev) VALUES ('${tenant}', 0, 1) ON CONFLICT (id) DO UPDATE SET triggers_rev = 1`,
  `${series(3000)} INSERT INTO queues (tenant_id, due_at) SELECT 'tenant-' || n, CASE WHEN n % 3 = 0 THEN ${START} + n END FROM series`,
  `INSERT INTO queues (tenant_id, due_at) VALUES ('${tenant}', 1)`,
  `${series(1000)} INSERT INTO app_queues (tenant_id, app, due_at) SELECT '${tenant}', 'app-' || n, ${START} + n - 5 FROM series`,
  `${series(3000)} INSERT INTO app_queues (tenant_id, app, due_at) SELECT 'tenant-' || n, 'app-' || n, ${START} + n FROM series`,
  `${series(1000)} INSERT INTO flow_queues (tenant_id, app, flow_id, due_at) SELECT '${tenant}', 'app-' || n, 'flow-' || n, ${START} + n - 5 FROM series`,
  `${series(3000)} INSERT INTO flow_queues (tenant_id, app, flow_id, due_at) SELECT '${tenant}', 'app-1', 'more-' || n, ${START} + n FROM series`,
  `${series(3000)} INSERT INTO matching_events (tenant_id, event_id, triggers, due_at) SELECT 'tenant-' || (n % 50), 'event-' || n, '[]', ${START} + n - 5 FROM series`,
  `${series(3000)} INSERT INTO matching_events (tenant_id, event_id, triggers, due_at, attempts) SELECT '${tenant}', 'id-' || n, '[]', ${START} + n, 1 FROM series`,
  `${series(3000)} INSERT INTO run_waits (tenant_id, worker, at, waits) SELECT 'tenant-' || n, 'worker-1', ${START}, '[]' FROM series`,
  `${series(1000)} INSERT INTO apps (tenant_id, slug, name, description, created_at, updated_at)
   SELECT '${tenant}', 'app-' || n, '', '', 0, 0 FROM series`,
  `${series(1000)} INSERT INTO flows (id, tenant_id, app, name, description, graph, revision, version, created_at, updated_at)
   SELECT 'flow-' || n, '${tenant}', 'app-' || n, '', '', '{"nodes":[],"edges":[]}', 1, 1, 0, 0 FROM series`,
  `${series(5000)} INSERT INTO flows (id, tenant_id, app, name, description, graph, revision, created_at, updated_at)
   SELECT 'other-' || n, 'tenant-' || n, 'app-' || n, '', '', '{}', 1, 0, 0 FROM series`,
  `${series(5000)} INSERT INTO flows (id, tenant_id, app, name, description, graph, revision, deleted, created_at, updated_at)
   SELECT 'gone-' || n, '${tenant}', 'app-' || n, '', '', '{}', 1, 1, 0, n FROM series`,
  `${series(1000)} INSERT INTO flow_versions (flow_id, version, graph, note, created_by, created_at)
   SELECT 'flow-' || n, 1, '{"nodes":[],"edges":[]}', '', '', 0 FROM series`,
  `${series(10_000)} INSERT INTO tool_names (tenant_id, app, name, flow_id, drafted, alias_node, alias_until)
   SELECT '${tenant}', 'app-' || (n % 1000), CASE WHEN n < 1000 THEN 'former-' ELSE 'tool-' END || n, 'flow-' || (n % 1000), 1,
     CASE WHEN n < 1000 THEN 'node-' || (n + 1000) END, CASE WHEN n < 1000 THEN ${START} + 1 END FROM series`,
  `${series(10_000)} INSERT INTO triggers (tenant_id, app, flow_id, node_id, version, kind, tool_name, source, type, active, config)
   SELECT '${tenant}', 'app-' || (n % 1000), 'flow-' || (n % 1000), 'node-' || n, 1, 'intent',
     CASE WHEN n % 2 = 1 THEN 'tool-' || n END, CASE WHEN n % 2 = 0 THEN 'source-' || (n % 100) END,
     CASE WHEN n % 4 = 0 THEN 'type-' || n END, 1, '{}' FROM series`,
  `${series(30_000)} INSERT INTO runs (id, tenant_id, app, flow_id, version, trigger_node, cause, run_key, event_id, token_id, parent_run, depth, input,
     gathered, gathered_count, lane, lane_limit, gather_lane, status, due_at, worker, lease_until, claims, created_at, started_at, finished_at, stored)
   SELECT ${RUN_ID}, CASE WHEN n % 10 = 9 THEN 'tenant-' || (n % 100) ELSE '${tenant}' END, 'app-' || (n % 1000), 'flow-' || (n % 1000), 1,
     '', 'event', CASE WHEN n % 5 = 0 THEN 'key-' || n END, 'id-' || n,
     CASE WHEN n % 11 = 0 THEN 'token-' || (n % 50) END, CASE WHEN n % 500 = 0 THEN 'run-00002' END, 0, '{}', '[]', 0,
     CASE WHEN n % 2 = 0 THEN 'lane-' || (n % 50) END, CASE WHEN n % 2 = 0 THEN 2 END, CASE WHEN n % 7 = 0 THEN 'lane-' || n END,
     CASE WHEN n % 500 = 0 THEN 'running' WHEN n % 6 = 1 THEN 'waiting' WHEN n % 6 = 2 THEN 'queued' WHEN n % 30 = 4 THEN 'held'
       WHEN n % 60 = 3 THEN 'failed' ELSE 'succeeded' END,
     CASE WHEN n % 12 = 1 THEN ${START} + n WHEN n % 24 = 7 THEN NULL ELSE n END, CASE WHEN n % 500 = 0 THEN 'worker-' || ((n / 500) % 10) END,
     CASE WHEN n = 1000 THEN 1 WHEN n % 500 = 0 THEN ${START} + n ELSE 0 END, CASE WHEN n % 6 = 2 AND n % 500 > 0 THEN 0 ELSE 1 END, n, n,
     CASE WHEN n % 500 = 0 OR n % 6 IN (1, 2) OR n % 30 = 4 THEN NULL ELSE n END,
     CASE WHEN n < 29000 OR n % 500 = 0 OR n % 6 IN (1, 2) OR n % 30 = 4 THEN NULL ELSE 700 END
   FROM series`,
  `${series(5000)} INSERT INTO breakers (tenant_id, flow_id, node_id, since, fired, tripped_at)
   SELECT 'tenant-' || n, 'flow-' || (n % 1000), 'node-' || n, 0, 1, 1 FROM series`,
  `${series(10)} INSERT INTO breakers (tenant_id, flow_id, node_id, since, fired, tripped_at)
   SELECT '${tenant}', 'flow-' || n, 'node-' || n, 0, 1, 1 FROM series`,
  `${series(30_000)} INSERT INTO run_events (event_id, run_id, tenant_id) SELECT 'id-' || n, ${RUN_ID}, '${tenant}' FROM series`,
  `${series(30_000)} INSERT INTO steps (run_id, nth, node_id, item, attempt, status, input, output, error, started_at)
   SELECT ${RUN_ID}, 1, '', '', 1, 'done', 'null', 'null', 'null', 0 FROM series`,
  `${series(5000)} INSERT INTO verdicts (tenant_id, event_id, flow_id, node_id, version, matched, reasons)
   SELECT '${tenant}', 'id-' || n, '', '', 1, 0, '[]' FROM series`,
  `${series(10_000)} INSERT INTO schedules (tenant_id, flow_id, node_id, cron, time_zone, next_at)
   SELECT '${tenant}', 'flow-' || (n % 1000), 'node-' || n, '* * * * *', 'UTC', CASE WHEN n % 500 = 0 THEN ${START} - n ELSE ${START} + n END FROM series`,
  `${series(1000)} INSERT INTO secrets (tenant_id, name, sealed, created_at, updated_at)
   SELECT '${tenant}', 'secret-' || n, '', 0, 0 FROM series`,
];
