/** Runs one node until it succeeds or fails, with its retries and waits. */
import { errorOutput } from "@signalbox/rules/flows/errors.ts";
import type { LogLine } from "@signalbox/rules/flows/evaluation.ts";
import { ERROR_PORT, type Resumed } from "@signalbox/rules/flows/node-type.ts";
import { textBytes } from "@signalbox/rules/json-bytes.ts";
import { attemptNode, type FailedNodeAttempt, type RunIterations } from "./attempt-node.ts";
import { defaultPort, type Execution, type FrameContext } from "./execution.ts";
import { createParts } from "./record-part.ts";
import { splitParameters } from "./split-parameters.ts";
import {
  countAttempts,
  doneStep,
  ExecutionAborted,
  failedStep,
  findPendingWait,
  RunFailed,
  type StepKey,
  type StepRecord,
  waitingStep,
} from "./step-records.ts";

/**
 * Sets the node's state in its frame and returns the steps that are not recorded yet. Throws
 * `RunFailed` or `ExecutionAborted`.
 */
export async function runNode(
  execution: Execution,
  context: FrameContext,
  id: string,
  runIterations: RunIterations,
): Promise<StepRecord[]> {
  const { stepLog, activity, timers } = execution;
  const { frame, signal } = context;
  const records = stepLog.recordsAtClaim(frame.iteration, id);
  const attempts = countAttempts(records);
  const parts = createParts(execution, context, id);
  let resumed: Resumed | undefined;
  /** Set if the attempt continues after a wait. */
  let attemptStartedAt: number | undefined;

  const pending = findPendingWait(records);
  if (pending) {
    if (pending.due > timers.now()) await activity.waitUntil(pending.due, signal);
    if (pending.kind === "wait") ({ resumed, startedAt: attemptStartedAt } = pending);
  }
  for (;;) {
    if (signal.aborted) throw new ExecutionAborted();
    const attempt = attempts.next;
    const started_at = attemptStartedAt ?? timers.now();
    const key: StepKey = { node_id: id, item: frame.iteration, attempt, started_at };
    const outcome = await attemptNode(
      execution,
      context,
      id,
      { attempt, resumed, parts },
      runIterations,
    );
    if (signal.aborted) throw new ExecutionAborted();
    const interruptedParts = parts.endAttempt("error" in outcome ? outcome.error : undefined);

    if (!("result" in outcome)) {
      attempts.failures += 1;
      const handled = handleFailure(
        execution,
        context,
        key,
        { ...outcome, unrecorded: [...interruptedParts, ...(outcome.unrecorded ?? [])] },
        attempts.failures,
      );
      if (handled.retryAt === undefined) return handled.steps;
      await stepLog.write(handled.steps);
      await activity.waitUntil(handled.retryAt, signal);
      attempts.next += 1;
      [resumed, attemptStartedAt] = [undefined, undefined];
      continue;
    }
    const { input, result, mask, log } = outcome;
    if ("wait" in result) {
      const wait = { ...result.wait, state: mask.json(result.wait.state ?? null) };
      await stepLog.write([...interruptedParts, waitingStep(key, input, wait)]);
      await activity.waitUntil(wait.until, signal);
      [resumed, attemptStartedAt] = [{ state: wait.state }, started_at];
      continue;
    }
    const { port = defaultPort(execution, id), output } = result;
    frame.states.set(id, { status: "done", port, output });
    const fields = { port, output, input, log: logWithinBudget(execution, log) };
    return [...interruptedParts, doneStep(key, fields, timers.now())];
  }
}

/** About the number of bytes of a log line in JSON, apart from its text. */
const LINE_OVERHEAD_BYTES = 30;

/** Returns an empty log if the log exceeds the byte limit of the run. The step does not fail then. */
function logWithinBudget({ budget }: Execution, log: LogLine[]): LogLine[] {
  if (log.length === 0) return log;
  const bytes = log.reduce((sum, { text }) => sum + textBytes(text) + LINE_OVERHEAD_BYTES, 0);
  return budget.reserve(bytes, "output") ? [] : log;
}

/** Schedules a retry, or continues at the error port. Throws `RunFailed` if neither is possible. */
function handleFailure(
  execution: Execution,
  { frame }: FrameContext,
  key: StepKey,
  { input, error: failure, log, retryAt: requested, unrecorded = [] }: FailedNodeAttempt,
  failures: number,
): { steps: StepRecord[]; retryAt?: number } {
  const now = execution.timers.now();
  const { settings } = splitParameters(execution.node(key.node_id));
  const retries = settings.retries ?? execution.definition(key.node_id)?.retries;
  const { retryAt, rejection = "" } = nextRetry(requested, failures, retries, now);
  const error = { ...failure, message: failure.message + rejection };
  const step = failedStep(
    key,
    { input, error, log: logWithinBudget(execution, log), retryAt },
    now,
  );
  if (retryAt !== undefined) return { steps: [...unrecorded, step], retryAt };
  const port = errorPort(execution, key.node_id, settings.continueOnError === true);
  if (port === undefined) throw new RunFailed(error, [...unrecorded, step]);
  const state = { status: "done", port, output: errorOutput(error) } as const;
  frame.states.set(key.node_id, state);
  // The record has the error, and the status "done", because the run continues.
  return { steps: [...unrecorded, { ...step, ...state }] };
}

/** The port on which the run continues after the node has failed; undefined if the run fails. */
function errorPort(execution: Execution, id: string, shouldContinue: boolean): string | undefined {
  const edges = execution.layout.graph.outgoing(id);
  if (edges.some(({ sourceHandle }) => sourceHandle === ERROR_PORT)) return ERROR_PORT;
  return shouldContinue ? defaultPort(execution, id) : undefined;
}

const MAX_BACKOFF_MS = 3_600_000;
/** The longest `Retry-After` that is respected, unless the node's own backoff is longer. */
const MAX_RETRY_AFTER_MS = 900_000;

/** Returns the time of the next attempt, if there is one, or why a requested retry is rejected. */
function nextRetry(
  requested: number | "backoff" | "never",
  failures: number,
  { attempts = 1, backoffMs = 0 }: { attempts?: number; backoffMs?: number } = {},
  now: number,
): { retryAt?: number; rejection?: string } {
  if (requested === "never" || failures >= attempts) return {};
  const backoff = Math.min(backoffMs * 2 ** (failures - 1), MAX_BACKOFF_MS);
  if (requested === "backoff") return { retryAt: now + backoff };
  const max = Math.max(backoff, MAX_RETRY_AFTER_MS);
  if (requested <= now + max) return { retryAt: requested };
  const seconds = (ms: number) => `${Math.ceil(ms / 1000)} s`;
  return {
    rejection: ` (no retry: Retry-After is ${seconds(requested - now)}, and the maximum is ${seconds(max)})`,
  };
}
