/**
 * Walks the graph of one frame. Ready nodes run in parallel. The end of a node and the start of its
 * successors are recorded in one write. A successor with effects starts after that write. A pure node
 * starts during the write, because repeating it after a crash does no harm.
 */
import { jsonBytes } from "@signalbox/rules/json-bytes.ts";
import type { MixedJson } from "@signalbox/rules/large-json.ts";
import type { Execution, FrameContext } from "./execution.ts";
import { advance, type Frame, frameResult, resultNodes } from "./frame.ts";
import { loadOutputs } from "./load-outputs.ts";
import { runIterations } from "./run-iterations.ts";
import { runNode } from "./run-node.ts";
import {
  countAttempts,
  ExecutionAborted,
  findPendingWait,
  RunFailed,
  runningStep,
  type StepRecord,
  skippedStep,
} from "./step-records.ts";
import { NONE_LOADED, StoredOutput } from "./stored-output.ts";

/**
 * Returns the output of the frame, and its last steps, which the caller must record. The first write
 * also records `unrecorded`, the steps that precede the frame.
 */
export async function walkFrame(
  execution: Execution,
  context: FrameContext,
  unrecorded: readonly StepRecord[],
): Promise<{ steps: StepRecord[]; output: MixedJson }> {
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
      .work(() =>
        runNode(execution, context, id, (...loop) => runIterations(execution, walkFrame, ...loop)),
      )
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
