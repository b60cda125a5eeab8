/**
 * Walks the graph of one frame. Ready nodes run in parallel. The end of a node and the start of its
 * successors are recorded in one write. A successor with effects starts after that write; a pure one
 * starts during it, because running it again after a crash has no effect.
 */
import type { Json } from "@signalbox/rules/json.ts";
import type { Execution, FrameContext } from "./execution.ts";
import { advance, type Frame, frameResult } from "./frame.ts";
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

/** Records `before` with the first step. Returns the result and the steps that are not recorded yet. */
export async function walkFrame(
  execution: Execution,
  context: FrameContext,
  before: readonly StepRecord[],
): Promise<{ steps: StepRecord[]; output: Json }> {
  const { stepLog, suspension, layout, timers } = execution;
  const { frame, signal } = context;
  const ended: StepRecord[] = [...before];
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
      return { steps, output: frameResult(layout, frame, slugOf, isResult) };
    }
    const isPure = (id: string) => execution.definition(id)?.isPure ?? false;
    const canWait = next.ready.every(isPure);
    const written = steps.length > 0 ? stepLog.write(steps, { canWait }) : undefined;
    for (const id of next.ready) if (isPure(id)) void start(id);
    await written;
    for (const id of next.ready) if (!isPure(id)) void start(id);
    await suspension.idle(() => settled.promise);
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
