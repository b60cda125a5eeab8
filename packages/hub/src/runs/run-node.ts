/** Runs one node until it succeeds or fails, with its retries and waits. */
import { errorOutput } from "@signalbox/rules/flows/errors.ts";
import type { LogLine } from "@signalbox/rules/flows/evaluation.ts";
import { ERROR_PORT, type Resumed } from "@signalbox/rules/flows/node-type.ts";
import { textBytes } from "@signalbox/rules/json-bytes.ts";
import { attemptNode, type NodeFailed, type RunIterations } from "./attempt-node.ts";
import { defaultPort, type Execution, type FrameContext } from "./execution.ts";
import { nodeParts } from "./node-parts.ts";
import { createParts } from "./record-part.ts";
import {
  countAttempts,
  done,
  ExecutionAborted,
  failed,
  pendingWait,
  RunFailed,
  type StepKey,
  type StepRecord,
  waiting,
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
  const { stepLog, suspension, timers } = execution;
  const { frame, signal } = context;
  const records = stepLog.recorded(frame.iteration, id);
  const attempts = countAttempts(records);
  const parts = createParts(execution, context, id);
  let resumed: Resumed | undefined;
  let since: number | undefined;

  const pending = pendingWait(records);
  if (pending) {
    if (pending.due > timers.now()) await suspension.until(pending.due, signal);
    if (pending.kind === "wait") ({ resumed, since } = pending);
  }
  for (;;) {
    if (signal.aborted) throw new ExecutionAborted();
    const number = attempts.next;
    const started_at = since ?? timers.now();
    const key: StepKey = { node_id: id, item: frame.iteration, attempt: number, started_at };
    const outcome = await attemptNode(
      execution,
      context,
      id,
      { number, resumed, parts },
      runIterations,
    );
    if (signal.aborted) throw new ExecutionAborted();
    const interrupted = parts.endAttempt("error" in outcome ? outcome.error : undefined);

    if (!("result" in outcome)) {
      attempts.failures += 1;
      const handled = handleFailure(
        execution,
        context,
        key,
        { ...outcome, unrecorded: [...interrupted, ...(outcome.unrecorded ?? [])] },
        attempts.failures,
      );
      if (handled.retryAt === undefined) return handled.steps;
      await stepLog.write(handled.steps);
      await suspension.until(handled.retryAt, signal);
      attempts.next += 1;
      [resumed, since] = [undefined, undefined];
      continue;
    }
    const { input, result, mask, log } = outcome;
    if ("wait" in result) {
      const wait = { ...result.wait, state: mask.json(result.wait.state ?? null) };
      await stepLog.write([...interrupted, waiting(key, input, wait)]);
      await suspension.until(wait.until, signal);
      [resumed, since] = [{ state: wait.state }, started_at];
      continue;
    }
    const { port = defaultPort(execution, id), output } = result;
    frame.states.set(id, { status: "done", port, output });
    const kept = keptLog(execution, log);
    return [...interrupted, done(key, { port, output, input, log: kept }, timers.now())];
  }
}

/** The console output, without which a step is still complete; empty if it exceeds the limit of the run. */
function keptLog({ budget }: Execution, log: LogLine[]): LogLine[] {
  if (log.length === 0) return log;
  const bytes = log.reduce((sum, { text }) => sum + textBytes(text) + 30, 0);
  return budget.take(bytes, "output") ? [] : log;
}

/** Schedules a retry, or continues at the error port. Throws `RunFailed` if neither is possible. */
function handleFailure(
  execution: Execution,
  { frame }: FrameContext,
  key: StepKey,
  { input, error, log, retryAt: requested, unrecorded = [] }: NodeFailed,
  failures: number,
): { steps: StepRecord[]; retryAt?: number } {
  const now = execution.timers.now();
  const { settings } = nodeParts(execution.node(key.node_id));
  const retries = settings.retries ?? execution.definition(key.node_id)?.retries;
  const retryAt = nextRetry(requested, failures, retries, now);
  const step = failed(key, { input, error, log: keptLog(execution, log), retryAt }, now);
  if (retryAt !== undefined) return { steps: [...unrecorded, step], retryAt };
  const port = errorPort(execution, key.node_id, settings.continueOnError === true);
  if (port === undefined) throw new RunFailed(error, [...unrecorded, step]);
  const state = { status: "done", port, output: errorOutput(error) } as const;
  frame.states.set(key.node_id, state);
  return { steps: [...unrecorded, { ...step, ...state }] };
}

function errorPort(execution: Execution, id: string, continues: boolean): string | undefined {
  const edges = execution.layout.graph.outgoing(id);
  if (edges.some(({ sourceHandle }) => sourceHandle === ERROR_PORT)) return ERROR_PORT;
  return continues ? defaultPort(execution, id) : undefined;
}

const MAX_BACKOFF_MS = 3_600_000;

function nextRetry(
  requested: number | "backoff" | "never",
  failures: number,
  { attempts = 1, backoffMs = 0 }: { attempts?: number; backoffMs?: number } = {},
  now: number,
): number | undefined {
  if (requested === "never" || failures >= attempts) return undefined;
  if (requested !== "backoff") return requested;
  return now + Math.min(backoffMs * 2 ** (failures - 1), MAX_BACKOFF_MS);
}
