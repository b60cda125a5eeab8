import {
  blob,
  defineTables,
  flag,
  integer,
  json,
  rowNumber,
  smallint,
  text,
  time,
} from "../kernel/store/schema.ts";
import type { TriggerStatus } from "./model.ts";

export const eventTables = defineTables({
  sources: {
    columns: {
      id: text.exported,
      tenant_id: text,
      kind: text.exported,
      name: text.exported,
      key: text.unique.credential,
      config: json.exported,
      created_at: time.exported,
    },
    key: ["id"],
    indexes: {
      sources_tenant: { on: ["tenant_id", "id"] },
    },
    tenant: { kind: "source", stage: "access", isInRegistry: true },
  },
  source_secrets: {
    columns: {
      id: text.omitted,
      source_id: text,
      sealed: text.credential,
      created_at: time.omitted,
      expires_at: time.nullable.omitted,
    },
    key: ["id"],
    indexes: {
      source_secrets_source: { on: ["source_id"] },
    },
    owned: { of: "sources", by: "source_id" },
  },
  /** An export adds the payload, which is in `packs`. */
  events: {
    columns: {
      tenant_id: text,
      id: text.exported,
      seq: integer.exported,
      source: text.exported,
      source_id: text.exported,
      external_id: text.nullable.exported,
      type: text.exported,
      received_at: time.exported,
      action: text.nullable.exported,
      repo: text.nullable.exported,
      sender: text.nullable.exported,
      number: integer.nullable.exported,
      title: text.nullable.exported,
      url: text.nullable.exported,
      size: integer.exported,
      pack: integer.omitted,
      pack_at: integer.omitted,
      meta_size: integer.omitted,
      processed: flag.default(0).exported,
      processed_at: time.nullable.exported,
      note: text.nullable.exported,
      trigger_status: text.of<TriggerStatus>().nullable.exported,
      last_triggered_at: time.nullable.exported,
      /** No longer used. */
      outcome: text.nullable.omitted,
      claimed_by: text.nullable.omitted,
      claimed_until: time.default(0).omitted,
      check_result: json.nullable.omitted,
      attempts: integer.default(0).omitted,
      quota_exempt: flag.default(0).omitted,
      /** The `triggers_rev` of the tenant when the event was stored; 0 if a former version stored it. */
      triggers_rev: integer.default(0).omitted,
      /** The bytes of the event in the database, which `tenants.bytes` sums. Null: the size of its body is counted. */
      stored: integer.nullable.omitted,
    },
    key: ["tenant_id", "seq"],
    indexes: {
      events_id: { on: ["id"], unique: true },
      events_external: { on: ["tenant_id", "source_id", "external_id"], unique: true },
      events_pending: { on: ["tenant_id", "seq"], where: "processed = 0" },
      events_pending_type: { on: ["tenant_id", "type", "seq"], where: "processed = 0" },
      /** Only claimed events: appending, the hot path, does not update it. */
      events_leased: {
        on: ["tenant_id", "claimed_until", "seq"],
        where: "processed = 0 AND claimed_until > 0",
      },
      events_processed: { on: ["processed_at"], where: "processed = 1" },
      events_done: { on: ["tenant_id", "seq"], where: "processed = 1" },
      events_done_at: { on: ["tenant_id", "processed_at"], where: "processed = 1" },
    },
    tenant: { kind: "event", stage: "events" },
  },
  /**
   * A separate table, so that lists do not read pages of payloads. A pack has several parts if the engine limits
   * the size of values; only the `events` of the first part is updated.
   */
  packs: {
    columns: {
      tenant_id: text,
      seq: integer.omitted,
      part: smallint.omitted,
      codec: text.omitted,
      events: integer.omitted,
      body: blob.omitted,
    },
    key: ["tenant_id", "seq", "part"],
    tenant: { stage: "events" },
  },
  /** The counts are stored, so that the cost of `pendingStatus` does not depend on the backlog. */
  pending_types: {
    columns: {
      tenant_id: text,
      type: text.omitted,
      count: integer.omitted,
    },
    key: ["tenant_id", "type"],
    tenant: { stage: "events" },
  },
  /** The id changes if the log is deleted and created again. */
  log_id: {
    columns: {
      one: smallint,
      id: text,
    },
    key: ["one"],
    shared: true,
  },
  /** The table has one row; see retention/retention-clock.ts. */
  retention_clock: {
    columns: {
      id: rowNumber,
      state: json,
    },
    key: ["id"],
    shared: true,
  },
});
