import { defineTables, flag, integer, json, text, time } from "../../kernel/store/schema.ts";

export const runTables = defineTables({
  /** Large values come last: to read a column, SQLite reads all columns before it. */
  runs: {
    columns: {
      id: text.exported,
      tenant_id: text,
      app: text.exported,
      flow_id: text.exported,
      version: integer.exported,
      trigger_node: text.exported,
      cause: text.exported,
      run_key: text.nullable.omitted,
      event_id: text.nullable.exported,
      parent_run: text.nullable.exported,
      token_id: text.nullable.omitted,
      depth: integer.omitted,
      chain: json.default("[]").omitted,
      gathered_count: integer.omitted,
      lane: text.nullable.omitted,
      lane_limit: integer.nullable.omitted,
      gather_lane: text.nullable.omitted,
      status: text.exported,
      due_at: time.nullable.omitted,
      worker: text.nullable.omitted,
      lease_until: time.default(0).omitted,
      claims: integer.default(0).omitted,
      idle_claims: integer.default(0).omitted,
      cancel_asked: flag.default(0).omitted,
      /** No longer used; former replicas set it during an upgrade. */
      woken: flag.default(0).omitted,
      /** Only runs with a time in the future send notices of their steps: on PostgreSQL, notices serialize commits. */
      followed_until: time.default(0).omitted,
      error: json.default("null").exported,
      created_at: time.exported,
      started_at: time.nullable.exported,
      finished_at: time.nullable.exported,
      /**
       * The bytes of an ended run with its steps, which `run_usage` sums; see store/end-runs.ts. Null: it has not
       * ended, or a former version has ended it.
       */
      stored: integer.nullable.omitted,
      /** For previews: to return the beginning of a value, SQLite and PostgreSQL read the whole value. */
      input_start: text.nullable.omitted,
      output_start: text.nullable.omitted,
      input: json.exported,
      output: json.default("null").exported,
      gathered: json.exported,
    },
    key: ["id"],
    indexes: {
      runs_key: { on: ["tenant_id", "run_key"], unique: true, where: "run_key IS NOT NULL" },
      runs_leased: { on: ["lease_until"], where: "status = 'running'" },
      runs_worker: { on: ["worker"], where: "status = 'running'" },
      runs_lane: {
        on: ["tenant_id", "lane", "status", "due_at", "id"],
        where: "lane IS NOT NULL AND finished_at IS NULL",
      },
      runs_gather: {
        on: ["tenant_id", "gather_lane", "id"],
        where: "claims = 0 AND finished_at IS NULL",
      },
      runs_tenant: { on: ["tenant_id", "id"] },
      runs_app: { on: ["tenant_id", "app", "id"] },
      runs_flow: { on: ["tenant_id", "flow_id", "id"] },
      runs_status: { on: ["tenant_id", "status", "id"] },
      runs_ended: { on: ["finished_at"], where: "finished_at IS NOT NULL" },
      runs_token: { on: ["tenant_id", "token_id", "app", "id"], where: "token_id IS NOT NULL" },
      runs_called: { on: ["parent_run"], where: "parent_run IS NOT NULL AND finished_at IS NULL" },
      runs_due: {
        on: ["tenant_id", "app", "flow_id", "due_at", "id"],
        where: "status IN ('queued', 'waiting')",
      },
      runs_stored: { on: ["tenant_id", "id"], where: "stored IS NOT NULL" },
      runs_held: { on: ["tenant_id", "flow_id"], where: "status = 'held'" },
    },
    tenant: { kind: "run", stage: "runs" },
  },
  /** Not clustered: to compare keys in a clustered table, SQLite reads whole rows. */
  steps: {
    columns: {
      run_id: text.exported,
      nth: integer.exported,
      node_id: text.exported,
      item: text.exported,
      attempt: integer.exported,
      status: text.exported,
      port: text.nullable.exported,
      error: json.exported,
      started_at: time.exported,
      finished_at: time.nullable.exported,
      input_start: text.nullable.omitted,
      output_start: text.nullable.omitted,
      log: text.nullable.exported,
      input: json.exported,
      output: json.exported,
    },
    key: ["run_id", "node_id", "item", "attempt"],
    indexes: {
      steps_nth: { on: ["run_id", "nth"] },
    },
    owned: { of: "runs", by: "run_id", kind: "step" },
  },
  /** The events that started a run, or were gathered into it before it started. */
  run_events: {
    columns: {
      event_id: text.exported,
      run_id: text.exported,
      tenant_id: text.omitted,
    },
    key: ["event_id", "run_id"],
    isClustered: true,
    indexes: {
      run_events_run: { on: ["run_id"] },
    },
    owned: { of: "runs", by: "run_id", kind: "run_event" },
  },
  /** When the next run of each tenant is due; null if it has none. */
  queues: {
    columns: {
      tenant_id: text,
      due_at: time.nullable.omitted,
    },
    key: ["tenant_id"],
    indexes: {
      queues_due: { on: ["due_at"] },
    },
    tenant: { stage: "runs" },
  },
  /** When the next run of each app is due. */
  app_queues: {
    columns: {
      tenant_id: text,
      app: text.omitted,
      due_at: time.nullable.omitted,
    },
    key: ["tenant_id", "app"],
    isClustered: true,
    indexes: {
      app_queues_due: { on: ["tenant_id", "due_at"] },
    },
    tenant: { stage: "runs" },
  },
  /** When the next run of each flow is due. */
  flow_queues: {
    columns: {
      tenant_id: text,
      app: text.omitted,
      flow_id: text.omitted,
      due_at: time.nullable.omitted,
    },
    key: ["tenant_id", "app", "flow_id"],
    isClustered: true,
    indexes: {
      flow_queues_due: { on: ["tenant_id", "app", "due_at"] },
      flow_queues_next: { on: ["due_at"] },
    },
    tenant: { stage: "runs" },
  },
  /** What the runs in the memory of each worker wait for. */
  run_waits: {
    columns: {
      tenant_id: text,
      worker: text.omitted,
      at: time.omitted,
      waits: json.omitted,
    },
    key: ["tenant_id", "worker"],
    isClustered: true,
    tenant: { stage: "runs" },
  },
  /** Deleted last, because the runs that are being deleted may end. */
  run_usage: {
    columns: {
      tenant_id: text,
      bytes: integer.omitted,
    },
    key: ["tenant_id"],
    isClustered: true,
    tenant: { stage: "usage" },
  },
});
