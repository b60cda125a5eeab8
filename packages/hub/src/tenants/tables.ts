import { defineTables, flag, integer, text, time } from "../kernel/store/schema.ts";

export const tenantTables = defineTables({
  tenants: {
    columns: {
      id: text.exported,
      name: text.nullable.exported,
      created_at: time.exported,
      seq: integer.default(0).omitted,
      pruned_seq: integer.default(0).omitted,
      pending: integer.default(0).omitted,
      bytes: integer.default(0).omitted,
      quota: integer.nullable.exported,
      /** Increases with each change of the triggers. */
      triggers_rev: integer.default(0).omitted,
      /** GitHub's timestamp of the name, so that a late event does not restore an older name. */
      name_version: integer.default(0).omitted,
      processed_for: integer.nullable.exported,
      pending_for: integer.nullable.exported,
      max_bytes: integer.nullable.exported,
      /** Rows of the tenant remain. A deleted tenant keeps its id and the position of its log. */
      deleting: flag.default(0).omitted,
      deleted_at: time.nullable.omitted,
      /** The pending events that do not count towards the quota. */
      pending_exempt: integer.default(0).omitted,
    },
    key: ["id"],
    indexes: {
      tenants_retention: {
        on: ["id"],
        where: "processed_for IS NOT NULL OR pending_for IS NOT NULL",
      },
      tenants_deleting: { on: ["id"], where: "deleting = 1" },
    },
    tenant: { kind: "tenant", stage: "kept", where: "id = ?", isInRegistry: true },
  },
  installations: {
    columns: {
      id: text.exported,
      tenant_id: text,
      account: text.nullable.exported,
      version: integer.omitted,
      updated_at: time.exported,
      suspended_at: time.nullable.exported,
      removed_at: time.nullable.exported,
    },
    key: ["id"],
    indexes: {
      installations_tenant: { on: ["tenant_id"] },
    },
    tenant: { kind: "installation", stage: "kept", isInRegistry: true },
  },
});
