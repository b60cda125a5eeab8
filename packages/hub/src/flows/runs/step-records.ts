/** Creates the records of steps, and derives the next attempt at a step from its records. */

import { NodeError } from "@signalbox/rules/flows/errors.ts";
import type { LogLine } from "@signalbox/rules/flows/evaluation.ts";
import type { Resumed, Wait } from "@signalbox/rules/flows/node-type.ts";
import { isObject } from "@signalbox/rules/json.ts";
import type { MixedJson } from "@signalbox/rules/large-json.ts";
import {
  openStepError,
  type RunError,
  type RunStatus,
  type Step,
  type WrittenStep,
} from "./model.ts";

/** The record of a step, without its number, which the step log adds. */
export type StepRecord = Omit<WrittenStep, "nth">;

/** Identifies an attempt at a step, with its start time. */
export type StepKey = Pick<Step, "node_id" | "item" | "attempt" | "started_at">;

/** A step failed, and the run or the loop iteration fails with it. `steps` are not recorded yet. */
export class RunFailed extends Error {
  readonly error: RunError;
  readonly steps: readonly StepRecord[];
  constructor(error: RunError, steps: readonly StepRecord[] = []) {
    super(error.message);
    this.error = error;
    this.steps = steps;
  }
}

/**
 * The execution stops without a result: the run has ended, is suspended, or another worker holds
 * it.
 */
export class ExecutionAborted extends Error {}

/** Abort reason: the run or the loop iteration has ended. Runs that it has called are cancelled. */
export const RUN_ENDED = "run ended";
/** Abort reason: another worker continues the run. Runs that it has called continue. */
export const LEASE_RELEASED = "lease released";

const blank = { port: null, input: null, output: null, error: null, log: [], finished_at: null };

export const runningStep = (key: StepKey, input: MixedJson = null): StepRecord => ({
  ...key,
  ...blank,
  status: "running",
  input,
});

export const skippedStep = (node_id: string, iteration: string, at: number): StepRecord => ({
  node_id,
  item: iteration,
  attempt: 1,
  started_at: at,
  ...blank,
  status: "skipped",
  finished_at: at,
});

export const doneStep = (
  key: StepKey,
  { log = [], ...fields }: { port: string; input: MixedJson; output: MixedJson; log?: LogLine[] },
  at: number,
): StepRecord => ({ ...key, status: "done", ...fields, log, error: null, finished_at: at });

export const waitingStep = (key: StepKey, input: MixedJson, wait: Wait): StepRecord => ({
  ...key,
  ...blank,
  status: "waiting",
  input,
  output: {
    until: wait.until,
    ...(wait.state !== undefined && { state: wait.state }),
  },
});

export const failedStep = (
  key: StepKey,
  {
    retryAt,
    ...fields
  }: { retryAt: number | undefined } & Pick<WrittenStep, "input" | "error" | "log">,
  at: number,
): StepRecord => ({
  ...key,
  ...blank,
  status: "failed",
  ...fields,
  output: retryAt === undefined ? null : { retry_at: retryAt },
  finished_at: at,
});

/** A step that was open when its run ended with the status `ending`. */
export const stoppedStep = (
  step: StepRecord,
  at: number,
  ending: RunStatus = "failed",
): StepRecord => ({
  ...step,
  status: "failed",
  output: null,
  error: openStepError(ending, step.node_id),
  finished_at: at,
});

export interface AttemptCount {
  /** The number of the next attempt. An interrupted attempt is repeated with the same number. */
  next: number;
  /** Failures since the run started, or since it was last retried by a user. */
  failures: number;
}

export function countAttempts(records: readonly Pick<Step, "status" | "attempt">[]): AttemptCount {
  let [last, failures] = [0, 0];
  for (const { status, attempt } of records) {
    if (status === "failed" || status === "retried") last = Math.max(last, attempt);
    if (status === "failed") failures += 1;
  }
  return { next: last + 1, failures };
}

export type PendingWait =
  | { kind: "retry"; due: number }
  | {
      kind: "wait";
      due: number;
      resumed: Resumed;
      startedAt: number;
    };

/** Finds what the step was waiting for when its run was suspended or released. */
export function findPendingWait(
  records: readonly Pick<WrittenStep, "status" | "output" | "started_at">[],
): PendingWait | undefined {
  const last = records.at(-1);
  if (!last || !isObject(last.output)) return undefined;
  const { retry_at, until, state = null } = last.output;
  if (last.status === "failed" && typeof retry_at === "number")
    return { kind: "retry", due: retry_at };
  if (last.status !== "waiting" || typeof until !== "number") return undefined;
  return { kind: "wait", due: until, resumed: { state }, startedAt: last.started_at };
}

/** Converts a value that a node has thrown to the error that is stored with the step. */
export function toRunError(error: unknown, node_id: string): RunError {
  if (error instanceof RunFailed) return { ...error.error, node_id };
  if (error instanceof NodeError)
    return {
      code: error.code,
      message: error.message,
      node_id,
      ...(error.details === null ? {} : { details: error.details }),
    };
  const { message, code } = Object(error) as { message?: unknown; code?: unknown };
  return {
    code: typeof code === "string" ? code : "failed",
    message: typeof message === "string" && message !== "" ? message : String(error),
    node_id,
  };
}
