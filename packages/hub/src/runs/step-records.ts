/** Steps as they are recorded, and what earlier records say of a step that is begun again. */

import type { LogLine } from "@signalbox/rules/flows/evaluation.ts";
import type { Resumed, Wait } from "@signalbox/rules/flows/node-type.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { openStepError, type RunError, type RunStatus, type Step } from "../store/run-store.ts";

/** Its place among the others is found when it is written. */
export type StepRecord = Omit<Step, "nth">;

/** Which step, which attempt at it, and since when. */
export type StepPlace = Pick<Step, "node_id" | "item" | "attempt" | "started_at">;

/** Something has failed, and nothing takes the error. `steps` have yet to be recorded. */
export class Failure extends Error {
  readonly error: RunError;
  readonly steps: readonly StepRecord[];
  constructor(error: RunError, steps: readonly StepRecord[] = []) {
    super(error.message);
    this.error = error;
    this.steps = steps;
  }
}

/** Nobody wants to know any more: the run has ended, is parked, or is in other hands. */
export class Over extends Error {}

/** Why a signal is aborted: what is under way has come to nothing, or somebody else goes on with it. */
export const CALLED_OFF = "called off";
export const HANDED_ON = "handed on";

const blank = { port: null, input: null, output: null, error: null, log: [], finished_at: null };

export const running = (place: StepPlace): StepRecord => ({
  ...place,
  ...blank,
  status: "running",
});

export const skipped = (node_id: string, item: string, at: number): StepRecord => ({
  node_id,
  item,
  attempt: 1,
  started_at: at,
  ...blank,
  status: "skipped",
  finished_at: at,
});

export const done = (
  place: StepPlace,
  { log = [], ...told }: { port: string; input: Json; output: Json; log?: LogLine[] },
  at: number,
): StepRecord => ({ ...place, status: "done", ...told, log, error: null, finished_at: at });

export const waiting = (place: StepPlace, input: Json, wait: Wait): StepRecord => ({
  ...place,
  ...blank,
  status: "waiting",
  input,
  output: {
    until: wait.until,
    ...(wait.for && { for: wait.for as unknown as JsonObject }),
    ...(wait.state !== undefined && { state: wait.state }),
  },
});

export const failed = (
  place: StepPlace,
  { retryAt, ...told }: { retryAt: number | undefined } & Pick<Step, "input" | "error" | "log">,
  at: number,
): StepRecord => ({
  ...place,
  ...blank,
  status: "failed",
  ...told,
  output: retryAt === undefined ? null : { retry_at: retryAt },
  finished_at: at,
});

/** Left unfinished when its run came to an end, which was this one. */
export const stopped = (
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

/** What earlier attempts leave for the next one. */
export interface Tried {
  /** The number of the next attempt; one that was interrupted is made again under its own. */
  attempt: number;
  /** Since the run was begun, or somebody last asked for it to be tried again. */
  failures: number;
}

export function triedIn(records: readonly Pick<Step, "status" | "attempt">[]): Tried {
  let [last, failures] = [0, 0];
  for (const { status, attempt } of records) {
    if (status === "failed" || status === "retried") last = Math.max(last, attempt);
    if (status === "failed") failures += 1;
  }
  return { attempt: last + 1, failures };
}

export type Rest =
  | { kind: "retry"; due: number }
  | {
      kind: "wait";
      /** Null where it is looked at now: what it waits for may be there. */
      due: number | null;
      resumed: Resumed;
      since: number;
    };

/** What a step was waiting for when the run was last left. */
export function restOf(
  records: readonly Pick<Step, "status" | "output" | "started_at">[],
): Rest | undefined {
  const last = records.at(-1);
  if (!last || !isObject(last.output)) return undefined;
  const { retry_at, until = null, for: awaited, state = null } = last.output;
  if (last.status === "failed" && typeof retry_at === "number")
    return { kind: "retry", due: retry_at };
  if (last.status !== "waiting") return undefined;
  // The run was taken because a time has come, or because somebody woke it, and does not know which.
  const due = awaited === undefined && typeof until === "number" ? until : null;
  return { kind: "wait", due, resumed: { state }, since: last.started_at };
}
