import {
  blob,
  defineTables,
  flag,
  integer,
  json,
  smallint,
  text,
  time,
} from "../kernel/store/schema.ts";
import type { Connection, TriggerSubscription } from "./model.ts";

export const connectionTables = defineTables({
  connections: {
    columns: {
      id: text.exported,
      tenant_id: text,
      name: text.exported,
      target: json.exported,
      sealed: text.nullable.credential,
      credentials: json.exported,
      revision: integer.default(1).omitted,
      status: text.of<Connection["status"]>().default("unknown").exported,
      error: text.nullable.exported,
      checked_at: time.nullable.exported,
      attempt: integer.default(0).omitted,
      tool_count: integer.default(0).omitted,
      trigger_count: integer.default(0).omitted,
      next_at: time.omitted,
      /** When the connection can be leased next; during a lease, the end of the lease. */
      due_at: time.omitted,
      /** The due time that was requested during a lease. */
      touched_at: time.nullable.omitted,
      leased_by: text.nullable.omitted,
      deleted: flag.default(0).exported,
      created_at: time.exported,
      updated_at: time.exported,
      /** The former servers, with their encrypted credentials. Their triggers must be disabled. */
      former: json.default("[]").credential,
    },
    key: ["id"],
    indexes: {
      connections_tenant: { on: ["tenant_id", "id"], where: "deleted = 0" },
      connections_due: { on: ["due_at"] },
      connections_owner: { on: ["leased_by"], where: "leased_by IS NOT NULL" },
      connections_deleted_tenant: { on: ["tenant_id", "id"], where: "deleted = 1" },
    },
    tenant: { kind: "connection", hasDeleted: true },
  },
  trigger_subscriptions: {
    columns: {
      id: text.exported,
      tenant_id: text.omitted,
      connection_id: text.exported,
      flow_id: text.exported,
      node_id: text.exported,
      type: text.exported,
      params: json.exported,
      poll: json.nullable.omitted,
      wanted: text.of<TriggerSubscription["wanted"]>().omitted,
      state: text.of<TriggerSubscription["state"]>().default("configuring").exported,
      error: text.nullable.exported,
      revision: integer.default(1).omitted,
      configured: integer.default(0).omitted,
      configured_type: text.nullable.omitted,
      position: json.nullable.omitted,
      attempt: integer.default(0).omitted,
      next_at: time.omitted,
      created_at: time.exported,
      updated_at: time.exported,
      token_generation: integer.default(0).omitted,
    },
    key: ["id"],
    indexes: {
      trigger_subscriptions_flow: { on: ["flow_id", "node_id", "connection_id"], unique: true },
      trigger_subscriptions_connection: { on: ["connection_id", "wanted"] },
    },
    owned: { of: "connections", by: "connection_id", kind: "trigger_subscription" },
  },
  callback_tokens: {
    columns: {
      hash: text.credential,
      tenant_id: text.omitted,
      connection_id: text,
      subscription_id: text.omitted,
      scope: text.omitted,
      expires_at: time.nullable.omitted,
      created_at: time.omitted,
      target: json.nullable.omitted,
      types: json.default("{}").omitted,
    },
    key: ["hash"],
    indexes: {
      callback_tokens_subscription: { on: ["subscription_id"] },
      callback_tokens_expiry: { on: ["expires_at"], where: "expires_at IS NOT NULL" },
      callback_tokens_connection: { on: ["connection_id"] },
    },
    owned: { of: "connections", by: "connection_id" },
  },
  connection_grants: {
    columns: {
      connection_id: text,
      tenant_id: text.omitted,
      sealed: text.nullable.credential,
      error: text.nullable.omitted,
      version: integer.omitted,
      leased_by: text.nullable.omitted,
      leased_until: time.nullable.omitted,
      state: text.nullable.credential,
      state_by: text.nullable.omitted,
      state_sealed: text.nullable.credential,
      state_expires_at: time.nullable.omitted,
    },
    key: ["connection_id"],
    owned: { of: "connections", by: "connection_id" },
  },
  /**
   * A separate table, so that lists of connections do not read the offers. Offers have several parts if the engine
   * limits the size of values.
   */
  connection_offers: {
    columns: {
      connection_id: text,
      part: smallint.omitted,
      body: blob.omitted,
    },
    key: ["connection_id", "part"],
    owned: { of: "connections", by: "connection_id" },
  },
});
