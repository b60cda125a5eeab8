/**
 * Walks the graph of one frame. Ready nodes run in parallel. The end of a node and the start of its
 * successors are recorded in one write. A successor with effects starts after that write. A pure node
 * starts during the write, because repeating it after a crash does no harm. Each iteration of a loop walks
 * a frame of its own.
 */

import { errorOutput } from "@signalbox/rules/flows/errors.ts";
import type { LogLine } from "@signalbox/rules/flows/evaluation.ts";
import {
  ERROR_PORT,
  ITEM_PORT,
  type NodeResult,
  type Resumed,
} from "@signalbox/rules/flows/node-type.ts";
import { jsonBytes, textBytes } from "@signalbox/rules/json-bytes.ts";
import type { MixedJson } from "@signalbox/rules/large-json.ts";
import type { AttemptResult } from "./attempt.ts";
import { attemptNode, withValidOutput } from "./attempt-node.ts";
import {
  defaultPort,
  type Execution,
  type FrameContext,
  loadOutputs,
  parametersOf,
} from "./execution.ts";
import {
  advance,
  type Frame,
  frameResult,
  NONE_LOADED,
  openFrame,
  resultNodes,
  StoredOutput,
} from "./frame.ts";
import type { RunError } from "./model.ts";
import { createParts } from "./record-part.ts";
import {
  countAttempts,
  doneStep,
  ExecutionAborted,
  failedStep,
  findPendingWait,
  LEASE_RELEASED,
  RUN_ENDED,
  RunFailed,
  runningStep,
  type StepKey,
  type StepRecord,
  skippedStep,
  waitingStep,
} from "./step-records.ts";

/**
 * Returns the output of the frame, and its last steps, which the caller must record. The first write
 * also records `unrecorded`, the steps that precede the frame.
 */
export async function walkFrame(
  execution: Execution,
  context: FrameContext,
  unrecorded: readonly StepRecord[],
): Promise<{ steps: readonly StepRecord[]; output: MixedJson }> {
  const { stepLog, activity, layout, timers } = execution;
  const { frame, signal } = context;
  /** Steps that the next write records. */
  const toRecord: StepRecord[] = [...unrecorded];
  /** Steps with large outputs that may not be stored yet. */
  const large: StepRecord[] = [];
  let active = 0;
  let failure: { error: unknown } | undefined;
  /** Resolves when a node succeeds or fails. */
  let settled = Promise.withResolvers<void>();
  const start = (id: string) =>
    activity
      .work(() => runNode(execution, context, id))
      .then(
        (steps) => {
          active -= 1;
          toRecord.push(...steps);
        },
        (error: unknown) => {
          failure ??= { error };
        },
      )
      .then(() => settled.resolve());

  for (;;) {
    settled = Promise.withResolvers();
    if (failure) throw addSteps(failure.error, toRecord);
    if (signal.aborted) throw new ExecutionAborted();
    const next = advance(layout, frame);
    active += next.ready.length;
    const steps = [
      ...toRecord.splice(0),
      ...next.skipped.map((id) => skippedStep(id, frame.iteration, timers.now())),
      ...next.ready.flatMap((id) => startRecords(execution, frame, id)),
    ];
    if (active === 0) {
      const isResult = (id: string) => execution.definition(id)?.kind === "result";
      const slugOf = (id: string) => execution.node(id).slug;
      const results = resultNodes(layout, frame, isResult);
      const stored = results.flatMap(({ output }) =>
        output instanceof StoredOutput ? [output] : [],
      );
      const loaded = stored.length === 0 ? NONE_LOADED : await loadOutputs(execution, stored);
      return { steps, output: frameResult(results, slugOf, loaded) };
    }
    const isPure = (id: string) => execution.definition(id)?.isPure ?? false;
    const canWait = next.ready.every(isPure);
    const writing = steps.length > 0 ? stepLog.write(steps, { canWait }) : undefined;
    for (const id of next.ready) if (isPure(id)) void start(id);
    for (const step of steps) {
      if (step.status !== "done") continue;
      const bytes = jsonBytes(step.output, MAX_KEPT_BYTES);
      if (bytes > MAX_KEPT_BYTES) large.push(step);
      // The outputs of iterations are not kept after their iteration.
      else if (frame.iteration === "") execution.onMemory(bytes);
    }
    if ((await writing) && large.length > 0) evict(frame, large.splice(0));
    for (const id of next.ready) if (!isPure(id)) void start(id);
    await activity.waitFor(() => settled.promise);
  }
}

/** Outputs above this size are removed from memory after they are stored. */
const MAX_KEPT_BYTES = 64 * 1024;

function evict(frame: Frame, steps: readonly StepRecord[]): void {
  for (const step of steps) {
    const state = frame.states.get(step.node_id);
    if (step.item === frame.iteration && state?.status === "done" && state.output === step.output)
      frame.states.set(step.node_id, { ...state, output: new StoredOutput(step, step.output) });
  }
}

/** Adds the steps that have ended meanwhile, so that they are recorded with the failed step. */
const addSteps = (error: unknown, steps: readonly StepRecord[]): unknown =>
  error instanceof RunFailed ? new RunFailed(error.error, [...steps, ...error.steps]) : error;

/** The record of a step that starts. A step that waited when the run was suspended needs no new one. */
function startRecords(
  { stepLog, timers }: Execution,
  { iteration }: Frame,
  id: string,
): StepRecord[] {
  const records = stepLog.recordsAtClaim(iteration, id);
  if (findPendingWait(records)) return [];
  const attempt = countAttempts(records).next;
  return [runningStep({ node_id: id, item: iteration, attempt, started_at: timers.now() })];
}

/**
 * Runs one node until it succeeds or fails, with its retries and waits. Sets the node's state in its frame,
 * and returns the steps that are not recorded yet. Throws `RunFailed` or `ExecutionAborted`.
 */
async function runNode(
  execution: Execution,
  context: FrameContext,
  id: string,
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
    const outcome = await attemptWithIterations(execution, context, id, {
      attempt,
      resumed,
      parts,
    });
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

/** If the node is a loop, its iterations are a part of the attempt. */
async function attemptWithIterations(
  execution: Execution,
  context: FrameContext,
  id: string,
  options: Parameters<typeof attemptNode>[3],
): Promise<NodeAttempt> {
  const attempted = await attemptNode(execution, context, id, options);
  if (!("result" in attempted)) return attempted;
  const { result, ...record } = attempted;
  if (!("each" in result)) return { ...record, result };
  try {
    const output = await runIterations(execution, context, id, result.each);
    return withValidOutput(execution, id, { ...record, result: { output } });
  } catch (error) {
    if (!(error instanceof RunFailed)) throw error;
    // The loop is not retried, because the nodes in its body have their own retries.
    return { ...record, error: error.error, retryAt: "never", unrecorded: error.steps };
  }
}

/** The result is an output or a wait. If the node is a loop, its iterations have already run. */
type NodeAttempt = AttemptResult<Exclude<NodeResult, { each: unknown }>> & {
  /** Steps of the loop's iterations that are not recorded yet. */
  unrecorded?: readonly StepRecord[];
};
type FailedNodeAttempt = Exclude<NodeAttempt, { result: unknown }>;

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
  const { settings } = parametersOf(execution.node(key.node_id));
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

/**
 * An iteration that executes no node, because all are pinned or skipped, neither writes its steps nor
 * yields to the event loop. Therefore the loop does both after so many steps or iterations.
 */
const MAX_UNRECORDED = 100;
const YIELD_EVERY = 50;

/**
 * Runs the iterations of a loop. Each iteration walks the loop's body in a new frame. If one fails,
 * the loop fails and the other iterations are aborted. With `continueOnError`, the error is the
 * result of the failed iteration, and the loop continues.
 */
async function runIterations(
  execution: Execution,
  outer: FrameContext,
  loop: string,
  { items, atOnce }: { items: readonly MixedJson[]; atOnce: number },
): Promise<MixedJson[]> {
  const { stepLog, activity, timers } = execution;
  const results: MixedJson[] = items.map(() => null);
  const controller = new AbortController();
  const onAbort = () => controller.abort(outer.signal.reason);
  outer.signal.addEventListener("abort", onAbort, { once: true });
  if (outer.signal.aborted) onAbort();

  let next = 0;
  const runNext = async (): Promise<void> => {
    // The end of one iteration is recorded with the start of the next.
    let steps: readonly StepRecord[] = [];
    for (let index = next++; index < items.length; index = next++) {
      const iteration = { loop, index, item: items[index] as MixedJson, signal: controller.signal };
      const ended = await runIteration(execution, outer, iteration, steps);
      results[index] = ended.output;
      steps = ended.steps;
      if (steps.length >= MAX_UNRECORDED) {
        await stepLog.write(steps);
        steps = [];
      }
      if (index % YIELD_EVERY === 0) await new Promise<void>((resolve) => timers.defer(resolve));
    }
    if (steps.length > 0) await stepLog.write(steps);
  };
  try {
    const concurrency = Math.max(1, Math.min(atOnce, items.length));
    await activity.waitFor(() =>
      Promise.all(Array.from({ length: concurrency }, () => activity.work(runNext))),
    );
    return results;
  } catch (error) {
    controller.abort(error instanceof RunFailed ? RUN_ENDED : LEASE_RELEASED);
    throw error;
  } finally {
    outer.signal.removeEventListener("abort", onAbort);
  }
}

interface Iteration {
  loop: string;
  index: number;
  item: MixedJson;
  signal: AbortSignal;
}

async function runIteration(
  execution: Execution,
  outer: FrameContext,
  { loop, index, item, signal }: Iteration,
  unrecorded: readonly StepRecord[],
): ReturnType<typeof walkFrame> {
  const { slug } = execution.node(loop);
  const { settings } = parametersOf(execution.node(loop));
  const loopState = { status: "done", port: ITEM_PORT, output: item } as const;
  const frame = openFrame(
    execution,
    `${outer.frame.iteration && `${outer.frame.iteration}/`}${slug}:${index}`,
    execution.layout.bodies.get(loop) ?? new Set(),
    (id) => (id === loop ? loopState : outer.frame.states.get(id)),
  );
  const locals = { item, index };
  if (settings.continueOnError !== true)
    return walkFrame(execution, { frame, locals, outer, signal }, unrecorded);
  const earlierError = recordedError(execution, frame);
  if (earlierError) return { output: errorOutput(earlierError), steps: unrecorded };
  const failureController = new AbortController();
  const iterationSignal = AbortSignal.any([signal, failureController.signal]);
  try {
    return await walkFrame(
      execution,
      { frame, locals, outer, signal: iterationSignal },
      unrecorded,
    );
  } catch (error) {
    if (!(error instanceof RunFailed)) throw error;
    failureController.abort(RUN_ENDED); // aborts the other nodes of the iteration
    return { output: errorOutput(error.error), steps: error.steps };
  }
}

/**
 * The error of an iteration that failed before the run was claimed. The iteration is not repeated.
 */
function recordedError({ stepLog }: Execution, { iteration, nodes }: Frame): RunError | undefined {
  for (const id of nodes) {
    const records = stepLog.recordsAtClaim(iteration, id);
    const last = records.at(-1);
    if (last?.status === "failed" && last.error && !findPendingWait(records)) return last.error;
  }
  return undefined;
}
