/**
 * Runs the iterations of a loop. Each iteration walks the loop's body in a new frame. If one fails,
 * the loop fails and the other iterations are aborted. With `continueOnError`, the error is the
 * result of the failed iteration, and the loop continues.
 */
import { errorOutput } from "@signalbox/rules/flows/errors.ts";
import { ITEM_PORT } from "@signalbox/rules/flows/node-type.ts";
import type { MixedJson } from "@signalbox/rules/large-json.ts";
import type { Execution, FrameContext } from "./execution.ts";
import type { Frame } from "./frame.ts";
import type { RunError } from "./model.ts";
import { openFrame } from "./open-frame.ts";
import { splitParameters } from "./split-parameters.ts";
import {
  findPendingWait,
  LEASE_RELEASED,
  RUN_ENDED,
  RunFailed,
  type StepRecord,
} from "./step-records.ts";

/** `walkFrame` is passed as a parameter, because importing it would create an import cycle. */
type Walk = (
  execution: Execution,
  context: FrameContext,
  unrecorded: readonly StepRecord[],
) => Promise<{ steps: readonly StepRecord[]; output: MixedJson }>;

/**
 * An iteration that executes no node, because all are pinned or skipped, neither writes its steps nor
 * yields to the event loop. Therefore the loop does both after so many steps or iterations.
 */
const MAX_UNRECORDED = 100;
const YIELD_EVERY = 50;

export async function runIterations(
  execution: Execution,
  walk: Walk,
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
      const ended = await runIteration(execution, walk, outer, iteration, steps);
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
  walk: Walk,
  outer: FrameContext,
  { loop, index, item, signal }: Iteration,
  unrecorded: readonly StepRecord[],
): ReturnType<Walk> {
  const { slug } = execution.node(loop);
  const { settings } = splitParameters(execution.node(loop));
  const loopState = { status: "done", port: ITEM_PORT, output: item } as const;
  const frame = openFrame(
    execution,
    `${outer.frame.iteration && `${outer.frame.iteration}/`}${slug}:${index}`,
    execution.layout.bodies.get(loop) ?? new Set(),
    (id) => (id === loop ? loopState : outer.frame.states.get(id)),
  );
  const locals = { item, index };
  if (settings.continueOnError !== true)
    return walk(execution, { frame, locals, outer, signal }, unrecorded);
  const earlierError = recordedError(execution, frame);
  if (earlierError) return { output: errorOutput(earlierError), steps: unrecorded };
  const failureController = new AbortController();
  const iterationSignal = AbortSignal.any([signal, failureController.signal]);
  try {
    return await walk(execution, { frame, locals, outer, signal: iterationSignal }, unrecorded);
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
