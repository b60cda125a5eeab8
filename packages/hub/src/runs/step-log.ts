/**
 * Records the steps of one run, in order. When `write` resolves, the steps survive a crash. After
 * `close`, nothing more is written.
 *
 * While the store fails, a write is repeated as long as this process executes the run: the steps may
 * have had effects, and a worker that finds no record of them would repeat those.
 */
import { backoffMs } from "../lib/backoff.ts";
import type { Timers } from "../lib/timers.ts";
import type { ClaimedRun, RunError, RunProgress, WrittenStep } from "../store/run-store.ts";
import { CannotBeSaved, type Saved, type SaveProgress } from "./progress-commit.ts";
import { ExecutionAborted, RunFailed, type StepRecord, stopped } from "./step-records.ts";

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
  recorded(iteration: string, node: string): readonly WrittenStep[];
  /**
   * Returns whether the steps, and all that were written before, are stored: a deferred run may be
   * stored later. Throws `ExecutionAborted` if another worker holds the run, or the run has ended.
   */
  write(steps: readonly StepRecord[], options?: Parameters<SaveProgress>[1]): Promise<boolean>;
  /** Records the last steps together with the run's next status. If the run ends, open steps fail. */
  close(steps: readonly StepRecord[], next: NonNullable<RunProgress["next"]>): Promise<Saved>;
}

const MAX_STEPS = 100_000;
const MAX_CANCEL_FAILURES = 8;
const RETRY = { firstMs: 50, maxMs: 1_000, random: Math.random };

export function createStepLog(options: StepLogOptions): StepLog {
  const { claimed, signal } = options;
  const { now } = options.timers;
  const { run } = claimed;
  const recorded = Map.groupBy(claimed.steps, ({ item, node_id }) => `${item}\n${node_id}`);
  const open = new Map<string, StepRecord>();
  let nth = claimed.steps.reduce((highest, step) => Math.max(highest, step.nth), 0);
  /** Steps whose write has failed and is to be repeated. */
  const delayed = new Set<readonly StepRecord[]>();
  let closed = false;
  /** Before the first write that nodes with effects wait for, an error of the store ends the execution. */
  let mayHaveEffects = claimed.steps.length > 0;

  const isOpen = ({ status }: StepRecord) => status === "running" || status === "waiting";
  const trackOpen = (step: StepRecord) => {
    const key = JSON.stringify([step.item, step.node_id, step.attempt]);
    if (isOpen(step)) open.set(key, step);
    else open.delete(key);
  };
  for (const step of claimed.steps) trackOpen(step);

  /** A cancelled run still tries to record its end. If that fails, it is cancelled when its lease expires. */
  const isAborted = ({ next }: RunProgress, failures: number) =>
    signal.aborted && !(next && signal.reason === "cancelled" && failures < MAX_CANCEL_FAILURES);
  const save = async (
    progress: RunProgress,
    { canWait = false }: Parameters<SaveProgress>[1] = {},
  ): Promise<Saved> => {
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
  const put = async (
    steps: readonly StepRecord[],
    next?: RunProgress["next"],
    options?: Parameters<SaveProgress>[1],
  ) => {
    // The store keeps the number under which a step was first written.
    const numbered = steps.map((step): WrittenStep => ({ ...step, nth: ++nth }));
    const progress = { run: run.id, claim: run.claims, steps: numbered, now: now() };
    const outcome = await save(next ? { ...progress, next } : progress, options);
    if (outcome === "lost") closed = true;
    return outcome;
  };

  return {
    recorded: (item, node) => recorded.get(`${item}\n${node}`) ?? [],
    async write(steps, options) {
      if (closed || signal.aborted) throw new ExecutionAborted();
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
      return outcome === "saved";
    },
    async close(steps, next) {
      if (closed) return "lost";
      closed = true;
      for (const step of steps) trackOpen(step);
      const { status } = next;
      const hasEnded = status !== "waiting" && status !== "queued";
      const left = hasEnded ? [...open.values()].map((step) => stopped(step, now(), status)) : [];
      const last = [...[...delayed].flat().filter((step) => !hasEnded || !isOpen(step)), ...steps];
      return put([...last, ...left], next).catch((error: unknown) => {
        if (!(error instanceof CannotBeSaved)) throw error;
        const replaced = withoutValues([...open.values(), ...last], error, now());
        return put(
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
