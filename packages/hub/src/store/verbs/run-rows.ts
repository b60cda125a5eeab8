/** Runs and steps as their tables have them. */
import type { Run, Step } from "../run-store.ts";
import type { Value } from "../sql.ts";

type Told = "input" | "output" | "error" | "gathered";

export interface RunRow
  extends Omit<Run, Told | "tenant" | "cancel_asked" | "event_id" | "parent_run"> {
  tenant_id: string;
  event_id: string | null;
  parent_run: string | null;
  input: string;
  output: string;
  error: string;
  gathered: string;
  cancel_asked: number;
  /** Somebody wanted to wake it while it was at work. */
  woken: number;
  lane: string | null;
  lane_limit: number | null;
}

type StepRow = Omit<Step, Told> & Record<"input" | "output" | "error", string>;

export const RUN =
  "id, tenant_id, app, flow_id, version, trigger_node, cause, run_key AS key, event_id, parent_run, depth, input, " +
  "gathered, gathered_count, lane, lane_limit, status, due_at, worker, claims, cancel_asked, woken, output, error, " +
  "created_at, started_at, finished_at";
export const STEP =
  "nth, node_id, item, attempt, status, port, input, output, error, started_at, finished_at";

export const toRun = ({
  tenant_id,
  event_id,
  parent_run,
  lane: _lane,
  lane_limit: _limit,
  woken: _woken,
  ...row
}: RunRow): Run => ({
  ...row,
  tenant: tenant_id,
  event_id: event_id ?? undefined,
  parent_run: parent_run ?? undefined,
  input: JSON.parse(row.input),
  gathered: JSON.parse(row.gathered),
  cancel_asked: row.cancel_asked === 1,
  output: JSON.parse(row.output),
  error: JSON.parse(row.error),
});

export const toStep = (row: StepRow): Step => ({
  ...row,
  input: JSON.parse(row.input),
  output: JSON.parse(row.output),
  error: JSON.parse(row.error),
});

export const STEP_COLUMNS = ["run_id", ...STEP.split(", ")];

export const stepValues = (run: string, step: Step): Value[] => [
  run,
  step.nth,
  step.node_id,
  step.item,
  step.attempt,
  step.status,
  step.port,
  JSON.stringify(step.input),
  JSON.stringify(step.output),
  JSON.stringify(step.error),
  step.started_at,
  step.finished_at,
];
