/**
 * The tables of the schema with data of tenants: how the rows of a tenant are selected, and which columns
 * an export contains. The export and the deletion of a tenant use this list. A contract test compares it
 * with the schema, so that a new table or column cannot be forgotten.
 */
import type { Value } from "./sql.ts";

interface Columns {
  /** The kind of the rows in an export; undefined if they are not exported. */
  kind?: string;
  /** The primary key, without the tenant. */
  key: readonly string[];
  /** Columns that an export contains. */
  exported?: readonly string[];
  /** Columns that contain JSON. */
  json?: readonly string[];
  /** Columns that contain 0 or 1. */
  flags?: readonly string[];
  /** Columns that an export does not contain: credentials, derived values, and the hub's internal state. */
  omitted?: readonly string[];
}

export interface OwnedTable extends Columns {
  name: string;
  /** The column with the key of the owner. */
  by: string;
}

export interface TenantTable extends Columns {
  name: string;
  /** Identifies this entry of the list; by default `name`. */
  id?: string;
  /** Selects the rows of one tenant, with `params`; by default `tenant_id = ?`. */
  where?: string;
  params?(tenant: string): Value[];
  /** Tables whose rows belong to a row of this table. The key of this table must be `id`. */
  owned?: readonly OwnedTable[];
}

const times = ["created_at", "updated_at"];

/** Two entries for one table, because its deleted rows have a separate index. */
const withDeleted = (table: TenantTable): TenantTable[] => [
  { ...table, where: "tenant_id = ? AND deleted = 0" },
  { ...table, where: "tenant_id = ? AND deleted = 1", id: `deleted ${table.name}` },
];

/**
 * In the order of their deletion: first the tables that grant access or let new data arrive. Runs, queues
 * and events are in the lock order of run-queues.ts.
 */
export const tenantTables: readonly TenantTable[] = [
  { name: "memberships", kind: "membership", key: ["person"], exported: ["person", "role"] },
  {
    name: "subscriptions",
    kind: "subscription",
    // Not selected by `principal`: on Cloudflare the tokens are in the registry, not in this database.
    where: "tenants = ?",
    params: (tenant) => [JSON.stringify([tenant])],
    key: ["id"],
    exported: [
      "id",
      "name",
      "arguments",
      "url",
      "last_error",
      "delivered_at",
      "expires_at",
      ...times,
    ],
    json: ["arguments"],
    omitted: [
      ...["principal", "tenants", "secret", "secret_hash", "former_secret", "former_until"],
      ...["places", "gap", "attempt", "failing_since", "next_at", "leased_by", "leased_until"],
    ],
  },
  {
    // A deletion finds no tokens of several tenants: `startDeletion` has removed this tenant from them.
    name: "tokens",
    kind: "token",
    where: "id IN (SELECT token_id FROM token_tenants WHERE tenant_id = ?)",
    key: ["id"],
    exported: [
      ...["id", "kind", "name", "scopes", "created_at", "expires_at", "revoked_at", "last_used_at"],
    ],
    json: ["scopes"],
    omitted: ["hash", "tenants", "parent", "person", "resource"],
    owned: [
      { name: "subscriptions", by: "principal", key: ["id"] },
      {
        name: "callback_verifications",
        by: "principal",
        key: ["principal", "url"],
        omitted: ["verified_at"],
      },
    ],
  },
  { name: "token_tenants", key: ["token_id"] },
  {
    // Their access tokens are rows of `tokens`.
    name: "oauth_grants",
    where: "tenants = ?",
    params: (tenant) => [JSON.stringify([tenant])],
    kind: "oauth_grant",
    key: ["id"],
    exported: [
      ...["id", "client_id", "client_name", "status", "scopes", "created_at", "expires_at"],
      "last_used_at",
    ],
    json: ["scopes"],
    omitted: [
      ...["code_hash", "user_code", "redirect_uri", "challenge", "resource", "tenants", "person"],
      ...["parent", "salt", "family_hash", "refresh_hash", "former_hash", "rotated_at"],
    ],
  },
  {
    name: "sources",
    kind: "source",
    key: ["id"],
    exported: ["id", "kind", "name", "config", "created_at"],
    json: ["config"],
    omitted: ["key"],
    owned: [
      {
        name: "source_secrets",
        by: "source_id",
        key: ["id"],
        omitted: ["sealed", "created_at", "expires_at"],
      },
    ],
  },
  ...withDeleted({
    name: "connections",
    kind: "connection",
    key: ["id"],
    exported: [
      ...[
        "id",
        "name",
        "target",
        "credentials",
        "status",
        "error",
        "checked_at",
        "deleted",
        ...times,
      ],
    ],
    json: ["target", "credentials"],
    flags: ["deleted"],
    omitted: [
      ...["sealed", "former", "revision", "attempt", "tool_count", "trigger_count"],
      ...["next_at", "due_at", "touched_at", "leased_by"],
    ],
    owned: [
      {
        name: "trigger_subscriptions",
        kind: "trigger_subscription",
        by: "connection_id",
        key: ["id"],
        exported: [
          ...[
            "id",
            "connection_id",
            "flow_id",
            "node_id",
            "type",
            "params",
            "state",
            "error",
            ...times,
          ],
        ],
        json: ["params"],
        omitted: [
          ...["tenant_id", "poll", "wanted", "revision", "configured", "configured_type"],
          ...["position", "attempt", "next_at", "token_generation"],
        ],
      },
      {
        name: "callback_tokens",
        by: "connection_id",
        key: ["hash"],
        omitted: [
          ...["tenant_id", "subscription_id", "scope", "expires_at", "created_at"],
          ...["target", "types"],
        ],
      },
      {
        name: "connection_grants",
        by: "connection_id",
        key: ["connection_id"],
        omitted: [
          ...["tenant_id", "sealed", "error", "version", "leased_by", "leased_until"],
          ...["state", "state_by", "state_sealed", "state_expires_at"],
        ],
      },
      {
        name: "connection_offers",
        by: "connection_id",
        key: ["connection_id", "part"],
        omitted: ["body"],
      },
    ],
  }),
  {
    name: "secrets",
    kind: "secret",
    key: ["name"],
    exported: ["name", ...times],
    omitted: ["sealed"],
  },
  {
    name: "apps",
    kind: "app",
    key: ["slug"],
    exported: ["slug", "name", "description", ...times],
  },
  ...withDeleted({
    name: "flows",
    kind: "flow",
    key: ["id"],
    exported: [
      ...["id", "app", "name", "description", "graph", "revision", "version", "deleted", ...times],
    ],
    json: ["graph"],
    flags: ["deleted"],
    owned: [
      {
        name: "flow_versions",
        kind: "flow_version",
        by: "flow_id",
        key: ["flow_id", "version"],
        exported: ["flow_id", "version", "graph", "note", "created_by", "created_at"],
        json: ["graph"],
      },
      {
        name: "triggers",
        by: "flow_id",
        key: ["flow_id", "node_id"],
        omitted: [
          ...["tenant_id", "app", "version", "kind", "tool_name", "source", "type"],
          ...["active", "config", "revision"],
        ],
      },
      {
        name: "schedules",
        by: "flow_id",
        key: ["flow_id", "node_id"],
        omitted: ["tenant_id", "cron", "time_zone", "next_at"],
      },
      {
        name: "trigger_firings",
        by: "flow_id",
        key: ["flow_id", "node_id"],
        omitted: ["fired_at"],
      },
    ],
  }),
  {
    name: "tool_names",
    kind: "tool_name",
    key: ["app", "name"],
    exported: ["app", "name", "flow_id", "alias_node", "alias_until"],
    omitted: ["drafted"],
  },
  {
    name: "breakers",
    key: ["flow_id", "node_id"],
    omitted: ["since", "fired", "tripped_at", "tripped_by", "tripped_most"],
  },
  {
    name: "runs",
    kind: "run",
    key: ["id"],
    exported: [
      ...["id", "app", "flow_id", "version", "trigger_node", "cause", "event_id", "parent_run"],
      ...["status", "error", "created_at", "started_at", "finished_at", "input", "output"],
      "gathered",
    ],
    json: ["error", "input", "output", "gathered"],
    omitted: [
      ...["run_key", "token_id", "depth", "chain", "gathered_count", "lane", "lane_limit"],
      ...["gather_lane", "due_at", "worker", "lease_until", "claims", "idle_claims"],
      ...["cancel_asked", "woken", "followed_until", "input_start", "output_start"],
      "stored",
    ],
    owned: [
      {
        name: "steps",
        kind: "step",
        by: "run_id",
        key: ["run_id", "node_id", "item", "attempt"],
        exported: [
          ...["run_id", "nth", "node_id", "item", "attempt", "status", "port", "error"],
          ...["started_at", "finished_at", "log", "input", "output"],
        ],
        json: ["error", "input", "output"],
        omitted: ["input_start", "output_start"],
      },
      {
        name: "run_events",
        kind: "run_event",
        by: "run_id",
        key: ["event_id", "run_id"],
        exported: ["event_id", "run_id"],
        omitted: ["tenant_id"],
      },
    ],
  },
  { name: "queues", key: [], omitted: ["due_at"] },
  { name: "app_queues", key: ["app"], omitted: ["due_at"] },
  { name: "flow_queues", key: ["app", "flow_id"], omitted: ["due_at"] },
  { name: "run_waits", key: ["worker"], omitted: ["at", "waits"] },
  {
    name: "verdicts",
    kind: "verdict",
    key: ["event_id", "flow_id", "node_id"],
    exported: ["event_id", "flow_id", "node_id", "version", "matched", "reasons", "run_id"],
    json: ["reasons"],
    flags: ["matched"],
  },
  { name: "matching_events", key: ["event_id"], omitted: ["triggers", "due_at", "attempts"] },
  {
    // The export adds the payload, which is in `packs`.
    name: "events",
    kind: "event",
    key: ["seq"],
    exported: [
      ...["id", "seq", "source", "source_id", "external_id", "type", "received_at", "action"],
      ...["repo", "sender", "number", "title", "url", "size", "processed"],
      ...["processed_at", "note", "trigger_status", "last_triggered_at"],
    ],
    flags: ["processed"],
    omitted: [
      ...[
        "check_result",
        "quota_exempt",
        "pack",
        "pack_at",
        "meta_size",
        "stored",
        "outcome",
        "claimed_by",
        "claimed_until",
        "attempts",
        "triggers_rev",
      ],
    ],
  },
  { name: "packs", key: ["seq", "part"], omitted: ["codec", "events", "body"] },
  { name: "pending_types", key: ["type"], omitted: ["count"] },
  // Last, because the runs that are being deleted may end.
  { name: "run_usage", key: [], omitted: ["bytes"] },
];

/** Exported, but not deleted: with the ids in these rows, the hub still rejects late webhooks. */
export const keptTables: readonly TenantTable[] = [
  {
    name: "tenants",
    kind: "tenant",
    where: "id = ?",
    key: ["id"],
    exported: ["id", "name", "created_at", "quota", "processed_for", "pending_for", "max_bytes"],
    omitted: [
      ...["seq", "pruned_seq", "pending", "pending_exempt", "bytes", "triggers_rev"],
      ...["name_version", "deleting", "deleted_at"],
    ],
  },
  {
    name: "installations",
    kind: "installation",
    key: ["id"],
    exported: ["id", "account", "updated_at", "suspended_at", "removed_at"],
    omitted: ["version"],
  },
];

/** Tables without data of tenants. */
export const sharedTables: readonly string[] = [
  "schema_version",
  "migration_checksums",
  "health",
  "retention_clock",
  "log_id",
  "oauth_clients",
  "people",
  "github_sweep",
  "github_redeliveries",
];

/** The exported tables that are in the registry on Cloudflare. */
export const registryTables: readonly string[] = [
  ...["tenants", "installations", "memberships", "tokens", "oauth_grants", "sources"],
];

export const paramsOf = ({ params }: TenantTable, tenant: string): Value[] =>
  params?.(tenant) ?? [tenant];
