/** Runs and their steps. The store is the queue: every stored run is executed until it ends. */
import type { RUN_CAUSES, RunStatus } from "@signalbox/contract/runs.ts";
import type { LogLine } from "@signalbox/rules/flows/evaluation.ts";
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import type { LargeJson, MaybeLarge, MixedJson } from "@signalbox/rules/large-json.ts";
import type { FlowGraph } from "../model.ts";

export { MAX_QUEUE_FLOWS, MAX_RUN_WAITS } from "@signalbox/contract/queue.ts";
export { RUN_CAUSES, RUN_STATUSES, type RunStatus } from "@signalbox/contract/runs.ts";

export type EndStatus = "succeeded" | "failed" | "cancelled";

export const TERMINAL_STATUSES: readonly RunStatus[] = [
  "succeeded",
  "failed",
  "cancelled",
] satisfies EndStatus[];

export type Cause = (typeof RUN_CAUSES)[number];

export interface RunError {
  code: string;
  message: string;
  node_id?: string;
  details?: Json;
}

/**
 * What happens to a new run whose lane has reached its limit. `queue`: the new run waits. `skip`: the
 * new run is not stored. `replace`: the new run waits. The queued and held runs of the lane that have
 * never started are cancelled, except the oldest ones that can start because fewer than `max` runs of
 * the lane are running.
 */
export type WhenFull = "queue" | "skip" | "replace";

export interface LaneLimit {
  lane: string;
  /** The maximum number of concurrent runs. */
  max: number;
  /** `queue` by default. */
  whenFull?: WhenFull | undefined;
}

export interface NewRun {
  id: string;
  tenant: string;
  app: string;
  flow_id: string;
  version: number;
  /** The trigger node where the run starts. */
  trigger_node: string;
  cause: Cause;
  input: JsonObject | LargeJson;
  /** When the run is created. */
  at: number;
  /** The run does not start before this time. */
  due_at: number;
  /** Idempotency key: a second run of the tenant with the same key is not created. */
  key?: string | undefined;
  event_id?: string | undefined;
  /** The run that called this one. */
  parent_run?: string | undefined;
  /** The token that created the run. Only this token can read the run as an MCP task. */
  token_id?: string | undefined;
  /** How many events and calls led to this run; 0 for a run that a client started. */
  depth: number;
  /** The causation chain: the flows of the runs that led to this run, oldest first. */
  chain?: readonly string[] | undefined;
  limit?: LaneLimit | undefined;
  /**
   * Gathers inputs: if a run with the same `gather.lane` has not started yet, the input is added to
   * that run, and no new run is created. `gather.lane` is independent of `limit.lane`.
   */
  gather?: { lane: string } | undefined;
}

/** A run that starts immediately, without a concurrency limit. */
export type ImmediateRun = Omit<NewRun, "due_at" | "limit" | "gather">;

/** A run that starts immediately unless its lane has reached its limit. */
export type LaneRun = Omit<NewRun, "due_at" | "gather">;

/** An input that was added to a run before the run started; see `NewRun.gather`. */
export interface Gathered {
  at: number;
  input: JsonObject;
  event_id?: string;
}

export interface Run extends Omit<NewRun, "at" | "limit" | "gather" | "key"> {
  chain: readonly string[];
  key: string | null;
  status: RunStatus;
  output: MaybeLarge;
  error: RunError | null;
  cancel_requested: boolean;
  worker: string | null;
  /** The number of claims. It is the fencing token of `saveProgress`. */
  claims: number;
  /** The inputs that were added to the run, oldest first, up to a size limit. */
  gathered: Gathered[];
  /** The number of added inputs, including those beyond the size limit. */
  gathered_count: number;
  created_at: number;
  started_at: number | null;
  finished_at: number | null;
}

/** `retried`: the step failed or did not end, and `retryRun` starts a new attempt. */
type StepStatus = "running" | "waiting" | "done" | "failed" | "skipped" | "retried";

export interface Step {
  /** The number of the step within its run, in the order in which steps started. */
  nth: number;
  node_id: string;
  /**
   * The iteration of the enclosing loop, such as `each:2`; empty outside of loops. A part of a step
   * has `#` and its name at the end, such as `each:2#turn-1`: see `NodeContext.record`.
   */
  item: string;
  attempt: number;
  status: StepStatus;
  /** The output port on which the run continued. */
  port: string | null;
  input: Json;
  output: Json;
  /** Set in a `ClaimedRun` if the output is not loaded: `output` is null, and `loadOutput` returns it. */
  omitted?: true;
  error: RunError | null;
  /** The console output of the node's code. Not loaded (empty) in a `ClaimedRun`. */
  log: LogLine[];
  started_at: number;
  finished_at: number | null;
}

/** A step as a worker reads and writes it: large values are not parsed. */
export type WrittenStep = Omit<Step, "input" | "output"> & Record<"input" | "output", MixedJson>;

/**
 * The beginning of the JSON of a large value, and the size of the whole JSON. Some reads return it in
 * place of the value; `readValue` returns the value.
 */
export type Preview = { $preview: string; bytes: number };

/** The input or output of a run, or of one of its steps. */
export interface ValueKey {
  tenant: string;
  run: string;
  /** The number of the step; undefined for the values of the run itself. */
  nth?: number | undefined;
  field: "input" | "output";
}

/** Selects a page of the steps of a run; by default the first page. */
export interface StepQuery {
  /** Returns new steps with a number above this one. */
  after?: number | undefined;
  /**
   * The numbers of earlier steps that had not ended when they were read, and may have changed. They are
   * returned again, before the new steps.
   */
  open?: readonly number[] | undefined;
  /** The maximum number of steps on the page. */
  limit?: number | undefined;
  /** The approximate maximum size of the page. The page has at least one step, if any is left. */
  bytes?: number | undefined;
}

/** Steps in the order of their numbers. */
export interface StepPage {
  items: Step[];
  /** `after` of the next page; null if this is the last one. */
  next: number | null;
  /** `open` of the next page: the open steps that did not fit on this page. */
  unread: number[];
}

/** Identifies a step of a run. */
export type StepRef = Pick<Step, "node_id" | "item" | "attempt">;

/** A run with the data that a worker needs to execute it. */
export interface ClaimedRun {
  run: Run;
  graph: FlowGraph;
  steps: WrittenStep[];
  /** The total size of the inputs, outputs and logs that are stored with the steps. */
  bytes: number;
}

/** The error of a step that had not ended when its run ended. */
export const openStepError = (ending: RunStatus, node_id: string): RunError =>
  ending === "cancelled"
    ? { code: "cancelled", message: "The run was cancelled before this step ended.", node_id }
    : { code: "stopped", message: "The run ended before this step did.", node_id };

/** The changes of one run since its last save. */
export interface RunProgress {
  run: string;
  /**
   * A run that was passed to `prepareRun`. It is stored first, unless it is stored already. It must have
   * neither key nor event.
   */
  start?: { run: ImmediateRun; lease: RunLease };
  /** The value of `claims` when the worker claimed the run. */
  claim: number;
  steps: WrittenStep[];
  now: number;
  /** The new status of the run. Undefined while the worker continues to execute it. */
  next?:
    | { status: "succeeded"; output: MixedJson }
    | { status: "failed"; error: RunError }
    | { status: "cancelled" }
    /** The run is suspended until `due_at`. */
    | { status: "waiting"; due_at: number }
    /** The run can be claimed again from `due_at` on. */
    | { status: "queued"; due_at: number };
}

export interface RunQuery {
  tenant: string;
  limit: number;
  /** Returns only runs with a smaller (older) id. The newest run comes first. */
  before?: string | undefined;
  flow?: string | undefined;
  app?: string | undefined;
  token?: string | undefined;
  status?: RunStatus | undefined;
  /** Returns only runs that this event started or was gathered into. */
  event?: string | undefined;
  cause?: Cause | undefined;
  /** Returns only runs with this id or a larger (newer) one. */
  from?: string | undefined;
}

/** A run in a list: without its values. */
export interface RunSummary
  extends Pick<
    Run,
    | "id"
    | "tenant"
    | "app"
    | "flow_id"
    | "version"
    | "trigger_node"
    | "cause"
    | "status"
    | "error"
    | "created_at"
    | "started_at"
    | "finished_at"
  > {
  /** Null if the flow was deleted. */
  flow_name: string | null;
  /**
   * The tool name or the event type of the trigger, in the version that is published now. Null for
   * other triggers, and if the published version does not have the trigger.
   */
  trigger_name: string | null;
  event_id: string | null;
  parent_run: string | null;
  /** When a queued or suspended run continues. */
  due_at: number | null;
}

/** The number of runs with one status in one period of time. */
export interface RunCount {
  /** The first characters of the runs' ids. They encode the period in which the runs were created. */
  prefix: string;
  status: RunStatus;
  count: number;
}

/** The runs of one flow that wait in the store. */
export interface FlowQueue {
  app: string;
  flow_id: string;
  /** Null if the flow was deleted. */
  flow_name: string | null;
  /** The runs that are due and not claimed yet, up to a maximum. */
  queued: number;
  /** The runs that wait for the concurrency limit of their trigger, up to the same maximum. */
  held: number;
  /** Since when the oldest queued run has been waiting. */
  since: number | null;
}

/** Runs of one flow that wait for the same thing while a worker has them in memory. */
export interface RunWait {
  app: string;
  flow_id: string;
  /**
   * `limit`: for one of the requests that may be open at the origin `target`. `response`: for a response of
   * the origin. `run`: for the end of a run of the flow `target`, which they have called.
   * A report contains its id, and `readQueue` returns its name.
   */
  kind: "limit" | "response" | "run";
  target: string;
  runs: number;
  /** Since when the oldest of them has been waiting. */
  since: number;
  /** The first of the runs. */
  run_ids: string[];
}

/** What waits in one tenant, the largest group first. */
export interface QueueReport {
  flows: FlowQueue[];
  /** Whether more flows have queued runs. */
  more_flows: boolean;
  /** Whether more flows have held runs. */
  more_held_flows: boolean;
  waits: (RunWait & Pick<FlowQueue, "flow_name">)[];
  /** Whether there are more groups. */
  more_waits: boolean;
}

export interface RunLease {
  worker: string;
  now: number;
  until: number;
}

/**
 * The shares of the worker's capacity that tenants, apps and flows may have: `path` is a tenant, a tenant
 * and an app, or a tenant, an app and a flow.
 */
export interface ClaimShares {
  /** Starts a claim: a transaction that is repeated starts again. */
  draft(): ClaimDraft;
}

export interface ClaimDraft {
  /** How many more runs of the group may be claimed. */
  room(path: readonly string[]): number;
  /** The number of groups directly inside of `path` whose room is less than one run. */
  countFull(path: readonly string[]): number;
  /** Counts a claimed run. */
  take(path: readonly string[]): void;
  /** Called for a group that has due runs, but no room for them. */
  leaveOut(path: readonly string[]): void;
}

/** Shares without limits. */
export const ALL_SHARES: ClaimShares = {
  draft: () => ({
    room: () => Number.POSITIVE_INFINITY,
    countFull: () => 0,
    take() {},
    leaveOut() {},
  }),
};

export type LaneStart =
  | { outcome: "started"; claimed: ClaimedRun }
  /** `id`: that of the new run, which waits for its lane, or of an existing run with the same key. */
  | { outcome: "queued"; id: string }
  /** The lane has reached its limit, and `whenFull` is `skip`. */
  | { outcome: "full" };

/** How a run ended, as its caller sees it. */
export type RunResult =
  | { outcome: "succeeded"; output: MaybeLarge }
  | { outcome: "failed"; message: string; code: string; node_id: string | undefined }
  | { outcome: "cancelled"; message: string };

export function toRunResult({ status, output, error }: Run): RunResult {
  if (status === "succeeded") return { outcome: "succeeded", output };
  if (status === "cancelled")
    return { outcome: "cancelled", message: error?.message ?? "The run was cancelled." };
  return {
    outcome: "failed",
    message: error?.message ?? "The run failed.",
    code: error?.code ?? "failed",
    node_id: error?.node_id,
  };
}
