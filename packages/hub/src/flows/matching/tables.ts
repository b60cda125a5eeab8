import { defineTables, flag, integer, json, text, time } from "../../kernel/store/schema.ts";

export const matchingTables = defineTables({
  /** Circuit breakers of triggers that fired on events of their own flow, or were stopped. */
  breakers: {
    columns: {
      tenant_id: text,
      flow_id: text.omitted,
      node_id: text.omitted,
      since: integer.omitted,
      fired: integer.omitted,
      tripped_at: time.nullable.omitted,
      tripped_by: text.nullable.omitted,
      tripped_most: integer.nullable.omitted,
    },
    key: ["tenant_id", "flow_id", "node_id"],
    tenant: { stage: "settings" },
  },
  verdicts: {
    columns: {
      tenant_id: text,
      event_id: text.exported,
      flow_id: text.exported,
      node_id: text.exported,
      version: integer.exported,
      matched: flag.exported,
      reasons: json.exported,
      run_id: text.nullable.exported,
    },
    key: ["tenant_id", "event_id", "flow_id", "node_id"],
    isClustered: true,
    tenant: { kind: "verdict", stage: "verdicts" },
  },
  matching_events: {
    columns: {
      tenant_id: text,
      event_id: text.omitted,
      triggers: json.omitted,
      due_at: time.omitted,
      attempts: integer.default(0).omitted,
    },
    key: ["tenant_id", "event_id"],
    isClustered: true,
    indexes: {
      matching_events_tenant: { on: ["tenant_id", "due_at"] },
      matching_events_due: { on: ["due_at"] },
    },
    tenant: { stage: "verdicts" },
  },
});
