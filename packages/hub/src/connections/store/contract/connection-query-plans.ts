/** The indexes that the operations on connections must use; see run-query-plans.ts. */

import { contextOf } from "../../../events/store/contract/query-plans.ts";
import { START } from "../../../events/store/contract/sample.ts";
import { type RunPlanCase, series } from "../../../flows/runs/store/contract/run-query-plans.ts";
import { eventTrigger, intents, publication } from "../../../flows/store/contract/flow-sample.ts";
import { storeDefinition } from "../../../store.ts";
import { connectionLease } from "./connection-sample.ts";

const tenant = "acme";
const lease = connectionLease({ by: "keeper-7" });
/** Leased by `keeper-7`. */
const LEASED = "connection-1007";
const result = { id: LEASED, revision: 1, next_at: START + 300 };
const removed = { id: "subscription-1007", revision: 1, isRemoved: true };
const triggers = [eventTrigger({ source: "connection-7" })];
const SYNC = ["trigger_subscriptions_flow", "connections", "trigger_subscriptions"];
const PUBLISH = [
  "flows",
  "apps",
  "flow_versions",
  "tool_names_flow",
  "triggers",
  "schedules",
  "breakers",
  ...SYNC,
];

// biome-ignore format: a table
export const connectionPlanCases: RunPlanCase[] = [
  { operation: "a callback token", verb: (d) => storeDefinition.findCallbackToken.call(contextOf(d), "hash-7", START), indexes: ["callback_tokens", "trigger_subscriptions", "trigger_subscriptions_connection"] },
  { operation: "confirming a callback token", verb: (d) => storeDefinition.confirmCallbackToken.call(contextOf(d), { hash: "hash-7", type: "storm", wanted: [], at: START }), indexes: ["callback_tokens", "callback_tokens_connection", "connections"] },
  { operation: "staging a callback token", verb: (d) => storeDefinition.stageCallbackToken.call(contextOf(d), { hash: "new", tenant, connection: "connection-7", subscription: "subscription-7", generation: 0, scope: "connection", target: { url: "" }, types: [], at: START }), indexes: ["callback_tokens", "connections", "trigger_subscriptions", "callback_tokens_expiry"] },
  { operation: "renewing subscriptions", verb: (d) => storeDefinition.renewSubscriptions.call(contextOf(d), tenant, "connection-7", START), indexes: ["connections", "trigger_subscriptions_connection"] },
  { operation: "revoking the callback tokens of a connection", verb: (d) => storeDefinition.rotateCallbackToken.call(contextOf(d), tenant, "connection-7", "subscription-7", { revokeNow: true, at: START }), indexes: ["trigger_subscriptions", "connections", "callback_tokens_connection", "trigger_subscriptions_connection", "callback_tokens"] },
  { operation: "leasing connections", verb: (d) => storeDefinition.leaseConnections.call(contextOf(d), lease), indexes: ["connections_due", "connections", "connection_offers", "trigger_subscriptions_connection"] },
  { operation: "the time of the next due connection", verb: (d) => storeDefinition.nextConnectionDue.call(contextOf(d)), indexes: ["connections_due"] },
  { operation: "renewing leases of connections", verb: (d) => storeDefinition.renewConnections.call(contextOf(d), lease, [LEASED]), indexes: ["connections"] },
  { operation: "releasing connections", verb: (d) => storeDefinition.releaseConnections.call(contextOf(d), "keeper-7"), indexes: ["connections_owner", "connections"] },
  { operation: "finishing a connection", verb: (d) => storeDefinition.finishConnection.call(contextOf(d), "keeper-7", result, [removed], START), indexes: ["connections", "trigger_subscriptions_connection", "trigger_subscriptions", "callback_tokens", "callback_tokens_subscription"] },
  { operation: "connections of a tenant", verb: (d) => storeDefinition.listConnections.call(contextOf(d), tenant, "connection-1", 20), indexes: ["connections_tenant"] },
  { operation: "the subscriptions of a connection", verb: (d) => storeDefinition.listTriggerSubscriptions.call(contextOf(d), tenant, "connection-7"), indexes: ["trigger_subscriptions_connection", "trigger_firings"] },
  { operation: "the states of the subscriptions of flows", verb: (d) => storeDefinition.listSubscriptionStates.call(contextOf(d), tenant, ["flow-507", "flow-508"]), indexes: ["trigger_subscriptions_flow"] },
  { operation: "deleting a connection", verb: (d) => storeDefinition.deleteConnection.call(contextOf(d), tenant, "connection-7", START), indexes: ["connections", "trigger_subscriptions_connection"] },
  { operation: "creating a connection", verb: (d) => storeDefinition.createConnection.call(contextOf(d), { id: "source-8", tenant, name: "", target: { url: "" }, sealed: null, credentials: {} }, START), indexes: ["triggers_event", "connections"] },
  { operation: "publishing a flow with a subscription", verb: (d) => storeDefinition.publishFlow.call(contextOf(d), { tenant, id: "flow-507" }, publication({ graph: intents(), triggers })), indexes: PUBLISH },
];

export const FILL_CONNECTIONS = [
  `${series(20_000)} INSERT INTO trigger_firings (flow_id, node_id, fired_at) SELECT 'flow-' || (500 + n % 500), 'node-' || n, n FROM series`,
  `${series(5000)} INSERT INTO connections (id, tenant_id, name, target, credentials, next_at, due_at, leased_by, created_at, updated_at)
   SELECT 'connection-' || n, CASE WHEN n % 10 = 7 THEN '${tenant}' ELSE 'tenant-' || n END, '', '{}', '{}', ${START} + n - 10, ${START} + n - 10,
     CASE WHEN n > 1000 AND n < 1011 THEN 'keeper-' || (n % 1000) END, 0, 0 FROM series`,
  `${series(5000)} INSERT INTO connection_offers (connection_id, part, body) SELECT 'connection-' || n, 0, 'x' FROM series WHERE n > 20`,
  `${series(20_000)} INSERT INTO trigger_subscriptions (id, tenant_id, connection_id, flow_id, node_id, type, params, wanted, next_at, created_at, updated_at)
   SELECT 'subscription-' || n, '${tenant}', 'connection-' || (n % 5000), 'flow-' || (500 + n % 500), 'node-' || n, 'storm', '{}',
     CASE WHEN n = 1007 THEN 'removed' ELSE 'active' END, 0, 0, 0 FROM series`,
  `${series(20_000)} INSERT INTO callback_tokens (hash, tenant_id, connection_id, subscription_id, scope, expires_at, created_at)
   SELECT 'hash-' || n, '${tenant}', 'connection-' || (n % 5000), 'subscription-' || n, CASE WHEN n % 2 = 1 THEN 'connection' ELSE 'subscription' END,
     CASE WHEN n % 10 = 0 THEN ${START} + n - 50 END, 0 FROM series`,
];
