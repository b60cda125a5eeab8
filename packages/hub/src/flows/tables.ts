import { defineTables, flag, integer, json, text, time } from "../kernel/store/schema.ts";
import type { StoredTrigger } from "./model.ts";

export const flowTables = defineTables({
  secrets: {
    columns: {
      tenant_id: text,
      name: text.exported,
      sealed: text.credential,
      created_at: time.exported,
      updated_at: time.exported,
    },
    key: ["tenant_id", "name"],
    tenant: { kind: "secret" },
  },
  apps: {
    columns: {
      tenant_id: text,
      slug: text.exported,
      name: text.exported,
      description: text.exported,
      created_at: time.exported,
      updated_at: time.exported,
    },
    key: ["tenant_id", "slug"],
    tenant: { kind: "app" },
  },
  flows: {
    columns: {
      id: text.exported,
      tenant_id: text,
      app: text.exported,
      name: text.exported,
      description: text.exported,
      graph: json.exported,
      revision: integer.exported,
      version: integer.nullable.exported,
      deleted: flag.default(0).exported,
      created_at: time.exported,
      updated_at: time.exported,
    },
    key: ["id"],
    indexes: {
      flows_tenant: { on: ["tenant_id", "id"], where: "deleted = 0" },
      flows_app: { on: ["tenant_id", "app", "id"], where: "deleted = 0" },
      flows_deleted: { on: ["updated_at"], where: "deleted = 1" },
      flows_deleted_tenant: { on: ["tenant_id", "id"], where: "deleted = 1" },
    },
    tenant: { kind: "flow", hasDeleted: true },
  },
  flow_versions: {
    columns: {
      flow_id: text.exported,
      version: integer.exported,
      graph: json.exported,
      note: text.exported,
      created_by: text.exported,
      created_at: time.exported,
    },
    key: ["flow_id", "version"],
    owned: { of: "flows", by: "flow_id", kind: "flow_version" },
  },
  triggers: {
    columns: {
      tenant_id: text.omitted,
      app: text.omitted,
      flow_id: text,
      node_id: text.omitted,
      version: integer.omitted,
      kind: text.of<StoredTrigger["kind"]>().omitted,
      tool_name: text.nullable.omitted,
      source: text.nullable.omitted,
      type: text.nullable.omitted,
      active: flag.omitted,
      config: json.omitted,
      /** The tenant's `triggers_rev` when this version of the trigger was published. */
      revision: integer.default(0).omitted,
    },
    key: ["flow_id", "node_id"],
    indexes: {
      triggers_tool: {
        on: ["tenant_id", "app", "tool_name"],
        unique: true,
        where: "tool_name IS NOT NULL",
      },
      triggers_event: {
        on: ["tenant_id", "source", "type", "flow_id", "node_id"],
        where: "source IS NOT NULL",
      },
      triggers_tenant: {
        on: ["tenant_id", "flow_id", "node_id", "source", "type"],
        where: "source IS NOT NULL",
      },
    },
    owned: { of: "flows", by: "flow_id" },
  },
  /** The active schedules of published flows. `next_at` is null if a schedule never fires again. */
  schedules: {
    columns: {
      tenant_id: text.omitted,
      flow_id: text,
      node_id: text.omitted,
      cron: text.omitted,
      time_zone: text.omitted,
      next_at: time.nullable.omitted,
    },
    key: ["flow_id", "node_id"],
    indexes: {
      schedules_due: { on: ["next_at"] },
    },
    owned: { of: "flows", by: "flow_id" },
  },
  /** When an event of a connection last started a run of a trigger. */
  trigger_firings: {
    columns: {
      flow_id: text,
      node_id: text.omitted,
      fired_at: time.omitted,
    },
    key: ["flow_id", "node_id"],
    owned: { of: "flows", by: "flow_id" },
  },
  /** The names of drafts, of published versions, and aliases; unique within an app. */
  tool_names: {
    columns: {
      tenant_id: text,
      app: text.exported,
      name: text.exported,
      flow_id: text.exported,
      drafted: flag.omitted,
      alias_node: text.nullable.exported,
      alias_until: time.nullable.exported,
    },
    key: ["tenant_id", "app", "name"],
    indexes: {
      tool_names_flow: { on: ["flow_id"] },
    },
    tenant: { kind: "tool_name" },
  },
});
