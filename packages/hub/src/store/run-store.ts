/** What the store keeps of runs. The store is the queue: a run that is here will come to its end. */

import type { LogLine } from "@signalbox/rules/flows/evaluation.ts";
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import type { Trip } from "@signalbox/rules/match/breaker.ts";
import type { Reason } from "@signalbox/rules/match/match-trigger.ts";
import type { FlowGraph } from "./flow-store.ts";

/**
 * `queued` until somebody takes it; `held` while its flow has as many under way as it may; `waiting`
 * for a time or an answer, with nobody at work.
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

/** What started a run. */
export type Cause = "tool" | "event" | "api" | "flow" | "replay";

export interface RunError {
  code: string;
  message: string;
  node_id?: string;
  details?: Json;
}

/**
 * What becomes of a run whose lane is full: it waits for its turn; it is not queued at all; or it
 * takes the place of the one that waits, so that only the newest does.
 */
export type WhenFull = "queue" | "skip" | "replace";

export interface LaneLimit {
  lane: string;
  most: number;
  /** Where nothing is said, it waits. */
  whenFull?: WhenFull | undefined;
}

export interface NewRun {
  id: string;
  tenant: string;
  app: string;
  flow_id: string;
  version: number;
  /** The node where it starts. */
  trigger_node: string;
  cause: Cause;
  input: JsonObject;
  at: number;
  /** Not before. */
  due_at: number;
  /** A second run with the same key is the same run. */
  key?: string | undefined;
  event_id?: string | undefined;
  /** The run that called or caused this one. */
  parent_run?: string | undefined;
  /** Of the token that called for it; nobody else may ask for it as a task. */
  token_id?: string | undefined;
  /** How many runs and events led to this one. */
  depth: number;
  /** The flows of the runs that led to it, the first one first. */
  chain?: readonly string[] | undefined;
  /** How many runs of the lane may be under way at once. */
  limit?: LaneLimit | undefined;
  /** Joins a run of the same lane that is still to begin, in place of starting another. */
  gather?: { lane: string } | undefined;
}

/** One that is begun at once has no lane to wait in. */
export type ImmediateRun = Omit<NewRun, "due_at" | "limit" | "gather">;

/** One that is begun at once where its lane has room. */
export type LaneRun = Omit<NewRun, "due_at" | "gather">;

/** What came while a run was still to begin, and is told with it. */
export interface Gathered {
  at: number;
  input: JsonObject;
  event_id?: string;
}

export interface Run extends Omit<NewRun, "at" | "limit" | "gather" | "key" | "due_at"> {
  chain: readonly string[];
  key: string | null;
  status: RunStatus;
  /** Null where it waits for somebody to wake it. */
  due_at: number | null;
  output: Json;
  error: RunError | null;
  cancel_asked: boolean;
  worker: string | null;
  /** How often somebody has taken it: the number of the claim under way, by which it is saved. */
  claims: number;
  /** What else it stands for; where that is very much, only the first of it. */
  gathered: Gathered[];
  gathered_count: number;
  created_at: number;
  started_at: number | null;
  finished_at: number | null;
}

/** `retried`: failed, and begun anew since. */
type StepStatus = "running" | "waiting" | "done" | "failed" | "skipped" | "retried";

export interface Step {
  /** Its place among the steps of the run, in the order in which they began. */
  nth: number;
  node_id: string;
  /** Which round of a loop, such as `each:2`; empty outside of loops. */
  item: string;
  attempt: number;
  status: StepStatus;
  /** Where it went on. */
  port: string | null;
  input: Json;
  output: Json;
  error: RunError | null;
  /** What its code wrote to the console. A run is taken without: nothing goes on from there. */
  log: LogLine[];
  started_at: number;
  finished_at: number | null;
}

/** A run with all that it takes to go on with it. */
export interface ClaimedRun {
  run: Run;
  graph: FlowGraph;
  steps: Step[];
}

/** Of a step that was open when its run came to its end. */
export const openStepError = (ending: RunStatus, node_id: string): RunError =>
  ending === "cancelled"
    ? { code: "cancelled", message: "The run was cancelled before this step ended.", node_id }
    : { code: "stopped", message: "The run ended before this step did.", node_id };

/** What one run has done since it was last saved. */
export interface RunProgress {
  run: string;
  /** The run's `claims`, as it was taken. */
  claim: number;
  steps: Step[];
  now: number;
  /** Undefined while it goes on. */
  next?:
    | { status: "succeeded"; output: Json }
    | { status: "failed"; error: RunError }
    | { status: "cancelled" }
    /** Nobody works on it until then, or until it is woken. */
    | { status: "waiting"; due_at: number | null }
    | { status: "queued"; due_at: number };
}

export interface RunQuery {
  tenant: string;
  limit: number;
  /** Newest first; only those before. */
  before?: string | undefined;
  flow?: string | undefined;
  app?: string | undefined;
  token?: string | undefined;
  status?: RunStatus | undefined;
  event?: string | undefined;
}

/** Of an event and a trigger that could have fired. */
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
  /** For its turn in its lane; or its key is known, and this is the run that has it. */
  | { outcome: "queued"; id: string }
  /** It would not wait. */
  | { outcome: "full" };

export interface RunStore {
  /**
   * Stores them to be run by anybody; answers with the ids, of those that were there or were joined
   * too, and null for what is skipped because its lane is full.
   */
  queueRuns(runs: NewRun[]): Promise<(string | null)[]>;
  /** Stores a run that the caller works on at once. Undefined where its key is known: then it is under way already. */
  startRun(run: ImmediateRun, lease: RunLease): Promise<ClaimedRun | undefined>;
  /**
   * Stores a run that somebody waits for. Where its lane has room, the caller works on it at once,
   * whatever else is queued; else it is held, and comes before what is queued when it is let in.
   */
  startInLane(run: LaneRun, lease: RunLease): Promise<LaneStart>;
  /**
   * Takes runs that are due, a fair share of each tenant's, and those whose worker has died; one that
   * was taken again and again, and nothing came of it, ends as failed. It may take fewer than there
   * are, where others are at work on the same ones: `nextDue` tells.
   */
  claimRuns(lease: RunLease, limit: number): Promise<ClaimedRun[]>;
  /**
   * Keeps those of `runs` that `worker` holds, but nothing that it has lost; answers with what somebody
   * wants cancelled. What a worker holds and does not name, it no longer works on: others may take it.
   */
  renewRuns(lease: RunLease, runs: readonly string[]): Promise<{ cancel: string[] }>;
  /** Each is saved whole or, where somebody else has taken the run or ended it, not at all. */
  saveProgress(batch: RunProgress[]): Promise<("saved" | "lost")[]>;
  /** When the next run is due, or may be taken over; null where there is none. */
  nextDue(): Promise<number | null>;
  /** Gives back what the worker holds, to be taken by another at once. */
  releaseRuns(worker: string, now: number): Promise<void>;
  getRun(tenant: string, id: string): Promise<Run | undefined>;
  findRun(tenant: string, key: string): Promise<Run | undefined>;
  listRuns(query: RunQuery): Promise<Run[]>;
  /** How many of each status there are from this id on; `most` stands for that many or more. */
  countRuns(tenant: string, since: string, most: number): Promise<Record<RunStatus, number>>;
  listSteps(tenant: string, run: string): Promise<Step[]>;
  /** What nobody works on ends at once; what is under way is asked to end. Undefined where it is over. */
  cancelRun(tenant: string, id: string, at: number): Promise<Run | undefined>;
  /** Goes on with a failed or cancelled run at what failed; what was done stays done. */
  retryRun(tenant: string, id: string, at: number): Promise<Run | undefined>;
  /**
   * Ends a wait before its time, also one that is only about to begin; false where the run is
   * neither waiting nor under way. Whoever is woken looks for itself whether what it waits for is there.
   */
  wakeRun(tenant: string, id: string, at: number): Promise<boolean>;
  listVerdicts(tenant: string, event: string): Promise<StoredVerdict[]>;
  /** Removes runs that ended before; answers with how many. */
  sweepRuns(endedBefore: number, limit: number): Promise<number>;
}

export interface PlannedVerdict extends Omit<StoredVerdict, "run_id"> {
  /** What stops it: at once where it has not matched, else beyond `most` times a minute. */
  breaker?: Trip & { reason: Reason };
}

/** A trigger that was stopped at an event, by a limit on what goes round. */
export interface TrippedTrigger extends Trip {
  event_id: string;
  flow_id: string;
  node_id: string;
  /** The first time within a minute: to be told. */
  isFirst: boolean;
}

/** What an event will cause, found out before it is stored, and stored with it. */
export interface EventPlan {
  verdicts: PlannedVerdict[];
  /** Of the verdicts that matched, in their order. */
  runs: NewRun[];
}
