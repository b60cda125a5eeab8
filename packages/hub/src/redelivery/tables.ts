import { defineTables, integer, text, time } from "../kernel/store/schema.ts";

export const redeliveryTables = defineTables({
  /** The table has one row. */
  github_sweep: {
    columns: {
      id: integer,
      read_until: time,
      cursor: text.nullable,
      newest_at: time.nullable,
      next_at: time,
      paused_until: time,
      completed_at: time.nullable,
      error: text.nullable,
      leased_by: text.nullable,
      leased_until: time,
    },
    key: ["id"],
    shared: true,
  },
  github_redeliveries: {
    columns: {
      guid: text,
      state: text,
      attempt_id: text,
      attempted_at: time,
      status: text,
      status_code: integer,
      event: text,
      action: text.nullable,
      installation: text.nullable,
      failed_at: time,
      requests: integer,
      requested_at: time.nullable,
      next_at: time,
      note: text.nullable,
    },
    key: ["guid"],
    indexes: {
      github_redeliveries_state: { on: ["state", "failed_at"] },
      github_redeliveries_due: { on: ["next_at"], where: "state = 'open'" },
    },
    shared: true,
  },
});
