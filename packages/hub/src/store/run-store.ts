/** Runs and their steps. The store is the queue: every stored run is executed until it ends. */

import type { LogLine } from "@signalbox/rules/flows/evaluation.ts";
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import type { Trip } from "@signalbox/rules/match/breaker.ts";
import type { Reason } from "@signalbox/rules/match/match-trigger.ts";
import type { FlowGraph } from "./flow-store.ts";

/**
 * `queued`: a worker can claim it from `due_at` on. `held`: it waits because its lane has reached its
 * limit. `running`: a worker has a lease on it. `waiting`: it is suspended until `due_at`, or until
 * `wakeRun`. The other statuses are final.
 *
 * A lane is the set of runs that share one concurrency limit.
 */
export const RUN_STATUSES = [
  "queued",
  "held",
  "running",
  "waiting",
  "succeeded",
  "failed",
  "cancelled",
] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export const TERMINAL_STATUSES: readonly RunStatus[] = ["succeeded", "failed", "cancelled"];

/** The kind of request or event that created a run. */
export type Cause = "tool" | "event" | "api" | "flow" | "replay";

export interface RunError {
  code: string;
  message: string;
  node_id?: string;
  details?: Json;
}

/**
 * What happens to a new run whose lane has reached its limit. `queue`: it waits. `skip`: it is not
 * stored. `replace`: it waits, and cancels the run that waited before it.
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
  /** The trigger node where it starts. */
  trigger_node: string;
  cause: Cause;
  input: JsonObject;
  at: number;
  /** It does not start before this time. */
  due_at: number;
  /** Idempotency key: a second run of the tenant with the same key is not created. */
  key?: string | undefined;
  event_id?: string | undefined;
  /** The run that called this one, or that sent the event which started it. */
  parent_run?: string | undefined;
  /** The token that created it. Only this token can read it as a task. */
  token_id?: string | undefined;
  /** The length of the chain of runs and events that led to this run. */
  depth: number;
  /** The flows of the runs in that chain, in order. */
  chain?: readonly string[] | undefined;
  limit?: LaneLimit | undefined;
  /** If a run of this lane has not started yet, the input is added to that run instead. */
  gather?: { lane: string } | undefined;
}

/** A run that starts immediately, without a concurrency limit. */
export type ImmediateRun = Omit<NewRun, "due_at" | "limit" | "gather">;

/** A run that starts immediately unless its lane has reached its limit. */
export type LaneRun = Omit<NewRun, "due_at" | "gather">;

/** An input that was added to a run before it started; see `NewRun.gather`. */
export interface Gathered {
  at: number;
  input: JsonObject;
  event_id?: string;
}

export interface Run extends Omit<NewRun, "at" | "limit" | "gather" | "key" | "due_at"> {
  chain: readonly string[];
  key: string | null;
  status: RunStatus;
  /** Null if only `wakeRun` ends its wait. */
  due_at: number | null;
  output: Json;
  error: RunError | null;
  cancel_requested: boolean;
  worker: string | null;
  /** How often it was claimed. `saveProgress` accepts only the number of the latest claim. */
  claims: number;
  /** The inputs that were added to it, oldest first, up to a size limit. */
  gathered: Gathered[];
  gathered_count: number;
  created_at: number;
  started_at: number | null;
  finished_at: number | null;
}

/** `retried`: it failed, and a later attempt replaced it. */
type StepStatus = "running" | "waiting" | "done" | "failed" | "skipped" | "retried";

export interface Step {
  /** Its number within the run, in the order of the starts. */
  nth: number;
  node_id: string;
  /** The iteration of a loop, such as `each:2`; empty outside of loops. */
  item: string;
  attempt: number;
  status: StepStatus;
  /** The output port on which the run continued. */
  port: string | null;
  input: Json;
  output: Json;
  error: RunError | null;
  /** The console output of its code. Empty in a claimed run, which does not need it. */
  log: LogLine[];
  started_at: number;
  finished_at: number | null;
}

/** The steps that a reader has: all up to `after`. The `open` ones had not ended, and may have changed. */
export interface StepsSince {
  after: number;
  open: readonly number[];
}

/** A run with everything that a worker needs to continue it. */
export interface ClaimedRun {
  run: Run;
  graph: FlowGraph;
  steps: Step[];
}

/** The error of a step that was still open when its run ended. */
export const openStepError = (ending: RunStatus, node_id: string): RunError =>
  ending === "cancelled"
    ? { code: "cancelled", message: "The run was cancelled before this step ended.", node_id }
    : { code: "stopped", message: "The run ended before this step did.", node_id };

/** The changes of one run since its last save. */
export interface RunProgress {
  run: string;
  /** The value of `claims` when the worker claimed the run. */
  claim: number;
  steps: Step[];
  now: number;
  /** Undefined while the worker continues to execute it. */
  next?:
    | { status: "succeeded"; output: Json }
    | { status: "failed"; error: RunError }
    | { status: "cancelled" }
    /** It is suspended until `due_at` or `wakeRun`. */
    | { status: "waiting"; due_at: number | null }
    | { status: "queued"; due_at: number };
}

export interface RunQuery {
  tenant: string;
  limit: number;
  /** A run id: only runs before it. The newest runs come first. */
  before?: string | undefined;
  flow?: string | undefined;
  app?: string | undefined;
  token?: string | undefined;
  status?: RunStatus | undefined;
  event?: string | undefined;
}

/** Whether an event matched a trigger that listens to events of its source and type. */
export interface StoredVerdict {
  flow_id: string;
  node_id: string;
  version: number;
  matched: boolean;
  reasons: Reason[];
  run_id: string | null;
}

export interface RunLease {
  worker: string;
  now: number;
  until: number;
}

export type LaneStart =
  | { outcome: "started"; claimed: ClaimedRun }
  /** It waits for its lane; or a run with the same key exists, and this is its id. */
  | { outcome: "queued"; id: string }
  /** The lane has reached its limit, and the run was to be skipped then. */
  | { outcome: "full" };

export interface RunStore {
  /**
   * Stores runs for any worker. Returns their ids. A run whose key exists, or whose input was added
   * to another run, has the id of that run; a skipped run (see `WhenFull`) has null.
   */
  queueRuns(runs: NewRun[]): Promise<(string | null)[]>;
  /** Stores a run and claims it for the caller. Undefined if a run with its key exists. */
  startRun(run: ImmediateRun, lease: RunLease): Promise<ClaimedRun | undefined>;
  /**
   * Stores a run whose caller waits for the result, and claims it if its lane is below its limit,
   * ahead of queued runs. Otherwise the run is held, and precedes queued runs when it is admitted.
   */
  startInLane(run: LaneRun, lease: RunLease): Promise<LaneStart>;
  /**
   * Claims runs that are due, an equal share for each tenant, and runs whose lease has expired. A run
   * that was claimed many times without any progress fails. May return fewer runs than are due if
   * other workers claim at the same time; see `nextDue`.
   */
  claimRuns(lease: RunLease, limit: number): Promise<ClaimedRun[]>;
  /**
   * Extends the leases of those `runs` that `worker` still holds. Returns the runs for which a
   * cancellation was requested. The leases of other runs of the worker expire.
   */
  renewRuns(lease: RunLease, runs: readonly string[]): Promise<{ cancel: string[] }>;
  /** Saves each run atomically. `lost`: not saved, since another worker claimed the run or it ended. */
  saveProgress(batch: RunProgress[]): Promise<("saved" | "lost")[]>;
  /** When the next run is due or the next lease expires; null if there is none. */
  nextDue(): Promise<number | null>;
  /** Returns the worker's runs to the queue, so that other workers can claim them immediately. */
  releaseRuns(worker: string, now: number): Promise<void>;
  getRun(tenant: string, id: string): Promise<Run | undefined>;
  findRun(tenant: string, key: string): Promise<Run | undefined>;
  listRuns(query: RunQuery): Promise<Run[]>;
  /** Counts the runs of each status from the id `since` on. Each count stops at `max`. */
  countRuns(tenant: string, since: string, max: number): Promise<Record<RunStatus, number>>;
  /** Ordered by `nth`. With `since`, returns only steps that are new or may have changed. */
  listSteps(tenant: string, run: string, since?: StepsSince): Promise<Step[]>;
  /** Until `until`, a `run_steps` notice announces that steps of the run were saved. */
  announceSteps(tenant: string, run: string, until: number): Promise<void>;
  /** Cancels the run, or asks its worker to do so. Undefined if the run has ended. */
  cancelRun(tenant: string, id: string, at: number): Promise<Run | undefined>;
  /** Continues a failed or cancelled run at its failed steps. Completed steps are not repeated. */
  retryRun(tenant: string, id: string, at: number): Promise<Run | undefined>;
  /**
   * Ends the suspension of a run early. If the run is still running, its next suspension ends
   * immediately. False if it is neither waiting nor running. A woken node must check whether the
   * event that it waits for has happened.
   */
  wakeRun(tenant: string, id: string, at: number): Promise<boolean>;
  listVerdicts(tenant: string, event: string): Promise<StoredVerdict[]>;
  /** Removes runs that ended before this time. Returns the number of removed runs. */
  sweepRuns(endedBefore: number, limit: number): Promise<number>;
}

export interface PlannedVerdict extends Omit<StoredVerdict, "run_id"> {
  /** The circuit breaker: stops it always if `matched` is false, else above `most` times a minute. */
  breaker?: Trip & { reason: Reason };
}

/** A trigger that a circuit breaker has stopped for an event. */
export interface TrippedTrigger extends Trip {
  event_id: string;
  flow_id: string;
  node_id: string;
  /** The first time within a minute: the hub logs only this one. */
  isFirst: boolean;
}

/** The verdicts and runs of an event. They are stored in the same transaction as the event. */
export interface EventPlan {
  verdicts: PlannedVerdict[];
  /** One run for each verdict that matched, in the same order. */
  runs: NewRun[];
}
