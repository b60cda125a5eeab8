/**
 * Records the steps of one run, in order. When `write` resolves, the steps survive a crash. After
 * `close`, nothing more is written.
 *
 * If the store fails, a write is repeated as long as this process executes the run. The steps may have
 * had effects, and a worker that finds no record of a step would repeat its effects.
 */
import { backoffMs } from "@signalbox/rules/backoff.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import type { ClaimedRun, RunError, RunProgress, WrittenStep } from "./model.ts";
import { CannotBeSaved, type SaveOutcome, type SaveProgress } from "./progress-commit.ts";
import { ExecutionAborted, RunFailed, type StepRecord, stoppedStep } from "./step-records.ts";

export interface StepLogOptions {
  claimed: ClaimedRun;
  save: SaveProgress;
  timers: Pick<Timers, "now" | "after">;
  /** Aborted when this process no longer executes the run. */
  signal: AbortSignal;
  /** Called with the error of a write that is repeated, once for each write. */
  onError(error: unknown): void;
}

export interface StepLog {
  /** The attempts at a step that were recorded before the run was claimed. */
  recordsAtClaim(iteration: string, node: string): readonly WrittenStep[];
  /**
   * Returns true if these steps, and all that were written before, are stored. The steps of a deferred
   * run may be stored later. Throws `ExecutionAborted` if another worker holds the run, or if the run
   * has ended.
   */
  write(steps: readonly StepRecord[], options?: Parameters<SaveProgress>[1]): Promise<boolean>;
  /** Records the last steps together with the run's next status. If the run ends, open steps fail. */
  close(steps: readonly StepRecord[], next: NonNullable<RunProgress["next"]>): Promise<SaveOutcome>;
}

const MAX_STEPS = 100_000;
const MAX_CANCEL_FAILURES = 8;
const RETRY = { firstMs: 50, maxMs: 1_000, random: Math.random };

export function createStepLog(options: StepLogOptions): StepLog {
  const { claimed, signal } = options;
  const { now } = options.timers;
  const { run } = claimed;
  const recordsByStep = Map.groupBy(claimed.steps, ({ item, node_id }) => `${item}\n${node_id}`);
  const open = new Map<string, StepRecord>();
  let lastNth = claimed.steps.reduce((highest, step) => Math.max(highest, step.nth), 0);
  /** Steps whose write has failed and is to be repeated. */
  const delayed = new Set<readonly StepRecord[]>();
  let closed = false;
  /**
   * False until the first write that a node with effects waits for. Until then, an error of the store
   * ends the execution, because the whole run can be repeated.
   */
  let mayHaveEffects = claimed.steps.length > 0;

  const isOpen = ({ status }: StepRecord) => status === "running" || status === "waiting";
  const trackOpen = (step: StepRecord) => {
    const key = JSON.stringify([step.item, step.node_id, step.attempt]);
    if (isOpen(step)) open.set(key, step);
    else open.delete(key);
  };
  for (const step of claimed.steps) trackOpen(step);

  /**
   * True if a failed write must not be repeated. The end of a cancelled run is still written, with a
   * limited number of retries: if all fail, the run is cancelled when its lease expires.
   */
  const isAborted = ({ next }: RunProgress, failures: number) =>
    signal.aborted && !(next && signal.reason === "cancelled" && failures < MAX_CANCEL_FAILURES);
  const save = async (
    progress: RunProgress,
    { canWait = false }: Parameters<SaveProgress>[1] = {},
  ): Promise<SaveOutcome> => {
    for (let failures = 1; ; failures += 1) {
      try {
        const outcome = await options.save(progress, { canWait });
        mayHaveEffects ||= !canWait;
        delayed.delete(progress.steps);
        return outcome;
      } catch (error) {
        if (error instanceof CannotBeSaved || !mayHaveEffects || isAborted(progress, failures))
          throw error;
        if (failures === 1) options.onError(error);
        delayed.add(progress.steps);
        await pause(options.timers, backoffMs(failures, RETRY), signal);
        // `close` writes the delayed steps itself.
        if (isAborted(progress, failures) || (closed && !progress.next))
          throw new ExecutionAborted();
      }
    }
  };
  const saveSteps = async (
    steps: readonly StepRecord[],
    next?: RunProgress["next"],
    options?: Parameters<SaveProgress>[1],
  ) => {
    // The store keeps the number under which a step was first written.
    const numbered = steps.map((step): WrittenStep => ({ ...step, nth: ++lastNth }));
    const progress = { run: run.id, claim: run.claims, steps: numbered, now: now() };
    const outcome = await save(next ? { ...progress, next } : progress, options);
    if (outcome === "lost") closed = true;
    return outcome;
  };

  return {
    recordsAtClaim: (item, node) => recordsByStep.get(`${item}\n${node}`) ?? [],
    async write(steps, options) {
      if (closed || signal.aborted) throw new ExecutionAborted();
      for (const step of steps) trackOpen(step);
      // Each write increases the number, and a step is written when it starts and when it ends.
      if (lastNth + steps.length > 2 * MAX_STEPS)
        throw new RunFailed({
          code: "too_many_steps",
          message: `The run exceeds the limit of ${MAX_STEPS} steps.`,
        });
      const outcome = await saveSteps(steps, undefined, options).catch((error: unknown) => {
        if (!(error instanceof CannotBeSaved)) throw error;
        const replaced = withoutValues(steps, error, now());
        throw new RunFailed(replaced.error, replaced.steps);
      });
      if (outcome === "lost") throw new ExecutionAborted();
      return outcome === "saved";
    },
    async close(steps, next) {
      if (closed) return "lost";
      closed = true;
      for (const step of steps) trackOpen(step);
      const { status } = next;
      const hasEnded = status !== "waiting" && status !== "queued";
      const stoppedSteps = hasEnded
        ? [...open.values()].map((step) => stoppedStep(step, now(), status))
        : [];
      const delayedSteps = [...delayed].flat().filter((step) => !hasEnded || !isOpen(step));
      const lastSteps = [...delayedSteps, ...steps];
      return saveSteps([...lastSteps, ...stoppedSteps], next).catch((error: unknown) => {
        if (!(error instanceof CannotBeSaved)) throw error;
        const replaced = withoutValues([...open.values(), ...lastSteps], error, now());
        return saveSteps(
          replaced.steps,
          status === "cancelled" ? { status } : { status: "failed", error: replaced.error },
        );
      });
    },
  };
}

/** Resolves after `ms`, or when `signal` is aborted. */
async function pause(
  { after }: Pick<Timers, "after">,
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const onAbort = () => resolve();
  const cancel = after(ms, onAbort);
  signal.addEventListener("abort", onAbort, { once: true });
  await promise;
  cancel();
  signal.removeEventListener("abort", onAbort);
}

/** Replaces steps whose values cannot be saved: marks them as failed and removes their values. */
function withoutValues(steps: readonly StepRecord[], { message }: CannotBeSaved, now: number) {
  const withValues = steps.filter(({ status }) => status !== "running" && status !== "skipped");
  const errorOf = (node_id: string | undefined): RunError => ({
    code: "cannot_be_saved",
    message: `The result of the step cannot be saved: ${message}`,
    ...(node_id !== undefined && { node_id }),
  });
  return {
    error: errorOf(withValues.length === 1 ? withValues[0]?.node_id : undefined),
    steps: steps.map((step) => {
      if (step.status === "skipped") return step;
      const emptied = { ...stoppedStep(step, now), port: null, input: null, log: [] };
      return step.status === "running" ? emptied : { ...emptied, error: errorOf(step.node_id) };
    }),
  };
}
