/**
 * Records the steps of one run, in order. When `write` resolves, the steps survive a crash. After
 * `close`, nothing more is written.
 */
import type { Timers } from "../lib/timers.ts";
import type { ClaimedRun, RunError, RunProgress, Step } from "../store/run-store.ts";
import { CannotBeSaved, type SaveProgress } from "./progress-commit.ts";
import { ExecutionAborted, RunFailed, type StepRecord, stopped } from "./step-records.ts";

export interface StepLogOptions {
  claimed: ClaimedRun;
  save: SaveProgress;
  timers: Pick<Timers, "now">;
}

export interface StepLog {
  /** The attempts at a step that were recorded before the run was claimed. */
  recorded(iteration: string, node: string): readonly Step[];
  /** Throws `ExecutionAborted` if another worker holds the run, or the run has ended. */
  write(steps: readonly StepRecord[], options?: Parameters<SaveProgress>[1]): Promise<void>;
  /** Records the last steps together with the run's next status. If the run ends, open steps fail. */
  close(
    steps: readonly StepRecord[],
    next: NonNullable<RunProgress["next"]>,
  ): Promise<"saved" | "lost">;
}

const MAX_STEPS = 100_000;

export function createStepLog({ claimed, save, timers: { now } }: StepLogOptions): StepLog {
  const { run } = claimed;
  const recorded = Map.groupBy(claimed.steps, ({ item, node_id }) => `${item}\n${node_id}`);
  const open = new Map<string, StepRecord>();
  let nth = claimed.steps.reduce((highest, step) => Math.max(highest, step.nth), 0);
  let closed = false;

  const trackOpen = (step: StepRecord) => {
    const key = JSON.stringify([step.item, step.node_id, step.attempt]);
    if (step.status === "running" || step.status === "waiting") open.set(key, step);
    else open.delete(key);
  };
  for (const step of claimed.steps) trackOpen(step);

  const put = async (
    steps: readonly StepRecord[],
    next?: RunProgress["next"],
    options?: Parameters<SaveProgress>[1],
  ) => {
    // The store keeps the number under which a step was first written.
    const numbered = steps.map((step): Step => ({ ...step, nth: ++nth }));
    const progress = { run: run.id, claim: run.claims, steps: numbered, now: now() };
    const outcome = await save(next ? { ...progress, next } : progress, options);
    if (outcome === "lost") closed = true;
    return outcome;
  };

  return {
    recorded: (item, node) => recorded.get(`${item}\n${node}`) ?? [],
    async write(steps, options) {
      if (closed) throw new ExecutionAborted();
      for (const step of steps) trackOpen(step);
      // Each step is written twice: when it starts, and when it ends.
      if (nth + steps.length > 2 * MAX_STEPS)
        throw new RunFailed({
          code: "too_many_steps",
          message: `The run exceeds the limit of ${MAX_STEPS} steps.`,
        });
      const outcome = await put(steps, undefined, options).catch((error: unknown) => {
        if (!(error instanceof CannotBeSaved)) throw error;
        const replaced = withoutValues(steps, error, now());
        throw new RunFailed(replaced.error, replaced.steps);
      });
      if (outcome === "lost") throw new ExecutionAborted();
    },
    async close(steps, next) {
      if (closed) return "lost";
      closed = true;
      for (const step of steps) trackOpen(step);
      const { status } = next;
      const hasEnded = status !== "waiting" && status !== "queued";
      const left = hasEnded ? [...open.values()].map((step) => stopped(step, now(), status)) : [];
      return put([...steps, ...left], next).catch((error: unknown) => {
        if (!(error instanceof CannotBeSaved)) throw error;
        const replaced = withoutValues([...open.values(), ...steps], error, now());
        return put(
          replaced.steps,
          status === "cancelled" ? { status } : { status: "failed", error: replaced.error },
        );
      });
    },
  };
}

/** Replaces steps whose values cannot be saved: marks them as failed and removes their values. */
function withoutValues(steps: readonly StepRecord[], { message }: CannotBeSaved, now: number) {
  const finished = steps.filter(({ status }) => status !== "running" && status !== "skipped");
  const error = (node_id: string | undefined): RunError => ({
    code: "cannot_be_saved",
    message: `The result of the step cannot be saved: ${message}`,
    ...(node_id !== undefined && { node_id }),
  });
  return {
    error: error(finished.length === 1 ? finished[0]?.node_id : undefined),
    steps: steps.map((step) => {
      if (step.status === "skipped") return step;
      const emptied = { ...stopped(step, now), port: null, input: null, log: [] };
      return step.status === "running" ? emptied : { ...emptied, error: error(step.node_id) };
    }),
  };
}
