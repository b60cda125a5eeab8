/**
 * Walks the graph of one frame. Ready nodes run in parallel. The end of a node and the start of its
 * successors are recorded in one write. A successor with effects starts after that write; a pure one
 * starts during it, because running it again after a crash has no effect.
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
  pendingWait,
  RunFailed,
  running,
  type StepRecord,
  skipped,
} from "./step-records.ts";
import { NONE_LOADED, StoredOutput } from "./stored-output.ts";

/** Records `before` with the first step. Returns the result and the steps that are not recorded yet. */
export async function walkFrame(
  execution: Execution,
  context: FrameContext,
  before: readonly StepRecord[],
): Promise<{ steps: StepRecord[]; output: MixedJson }> {
  const { stepLog, suspension, layout, timers } = execution;
  const { frame, signal } = context;
  const ended: StepRecord[] = [...before];
  /** Steps with large outputs that may not be stored yet. */
  const large: StepRecord[] = [];
  let active = 0;
  let failure: { error: unknown } | undefined;
  let settled = Promise.withResolvers<void>();
  const start = (id: string) =>
    suspension
      .work(() =>
        runNode(execution, context, id, (...loop) => runIterations(execution, walkFrame, ...loop)),
      )
      .then(
        (steps) => {
          active -= 1;
          ended.push(...steps);
        },
        (error: unknown) => {
          failure ??= { error };
        },
      )
      .then(() => settled.resolve());

  for (;;) {
    settled = Promise.withResolvers();
    if (failure) throw withSteps(failure.error, ended);
    if (signal.aborted) throw new ExecutionAborted();
    const next = advance(layout, frame);
    active += next.ready.length;
    const steps = [
      ...ended.splice(0),
      ...next.skipped.map((id) => skipped(id, frame.iteration, timers.now())),
      ...next.ready.flatMap((id) => startRecord(execution, frame, id)),
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
    const written = steps.length > 0 ? stepLog.write(steps, { canWait }) : undefined;
    for (const id of next.ready) if (isPure(id)) void start(id);
    for (const step of steps) if (isLarge(step)) large.push(step);
    if ((await written) && large.length > 0) evict(frame, large.splice(0));
    for (const id of next.ready) if (!isPure(id)) void start(id);
    await suspension.idle(() => settled.promise);
  }
}

/** Larger outputs are not kept in memory after they are stored. */
const MAX_KEPT_BYTES = 64 * 1024;

const isLarge = ({ status, output }: StepRecord): boolean =>
  status === "done" && jsonBytes(output, MAX_KEPT_BYTES) > MAX_KEPT_BYTES;

function evict(frame: Frame, steps: readonly StepRecord[]): void {
  for (const step of steps) {
    const state = frame.states.get(step.node_id);
    if (step.item === frame.iteration && state?.status === "done" && state.output === step.output)
      frame.states.set(step.node_id, { ...state, output: new StoredOutput(step, step.output) });
  }
}

/** Adds the steps that have ended meanwhile, so that they are recorded with the failed step. */
const withSteps = (error: unknown, steps: readonly StepRecord[]): unknown =>
  error instanceof RunFailed ? new RunFailed(error.error, [...steps, ...error.steps]) : error;

/** Empty for a step that waited when the run was suspended, because it already has a record. */
function startRecord(
  { stepLog, timers }: Execution,
  { iteration }: Frame,
  id: string,
): StepRecord[] {
  const records = stepLog.recorded(iteration, id);
  if (pendingWait(records)) return [];
  const attempt = countAttempts(records).next;
  return [running({ node_id: id, item: iteration, attempt, started_at: timers.now() })];
}
