/**
 * Delays the first commit of a run that a caller waits for. Until the run reaches a node with effects,
 * is suspended or ends, its steps are only collected. If the process crashes before that, the caller
 * gets no result, and the run has had no effects. Therefore a short run without effects needs only one
 * commit. A run that takes longer is stored after `STORE_AFTER_MS`, so that clients can see it.
 */
import type { Timers } from "../../kernel/lib/timers.ts";
import type { ClaimedRun, ImmediateRun, RunLease, WrittenStep } from "./model.ts";
import { CannotBeSaved, type SaveProgress } from "./progress-commit.ts";

const STORE_AFTER_MS = 100;

export interface DeferredStartOptions {
  run: ImmediateRun;
  claimed: ClaimedRun;
  newLease(): RunLease;
  save: SaveProgress;
  timers: Pick<Timers, "now" | "after">;
}

export interface DeferredStart {
  save: SaveProgress;
  /** Stores the run if its execution has stopped before it was stored. */
  close(): Promise<void>;
  /** Resolves when the run is stored. Rejects if it was not stored; it has had no effects then. */
  stored: Promise<void>;
}

export function createDeferredStart(options: DeferredStartOptions): DeferredStart {
  const { run, claimed, newLease, timers } = options;
  const collected = new Map<string, WrittenStep>();
  const stored = Promise.withResolvers<void>();
  stored.promise.catch(() => {}); // no unhandled rejection if no caller awaits it
  let isStored = false;

  const collect = (steps: readonly WrittenStep[]) => {
    for (const step of steps) {
      const key = JSON.stringify([step.item, step.node_id, step.attempt]);
      // A step keeps the number that it got when it started.
      collected.set(key, { ...step, nth: collected.get(key)?.nth ?? step.nth });
    }
  };
  const commit: SaveProgress = async (progress) => {
    const batch = new Map(collected);
    const outcome = await options.save({
      ...progress,
      steps: [...batch.values()],
      ...(!isStored && { start: { run, lease: newLease() } }),
    });
    // Steps that were collected during the commit are saved with the next one.
    for (const [key, step] of batch) if (collected.get(key) === step) collected.delete(key);
    isStored = true;
    cancelTimer();
    stored.resolve();
    return outcome;
  };
  collect(claimed.steps);
  const save: SaveProgress = async (progress, { canWait = false } = {}) => {
    collect(progress.steps);
    if (!isStored && canWait) return "delayed";
    try {
      return await commit(progress);
    } catch (error) {
      // Any of the steps may have the value that cannot be saved. The run fails, and is saved without
      // the values of all of them.
      if (error instanceof CannotBeSaved)
        for (const [key, step] of collected)
          collected.set(key, { ...step, input: null, output: null, log: [] });
      throw error;
    }
  };
  const storeRun = () =>
    commit({ run: run.id, claim: claimed.run.claims, steps: [], now: timers.now() });
  // An error is ignored here: the next save fails too, and reports it.
  const cancelTimer = timers.after(STORE_AFTER_MS, () => void storeRun().catch(() => {}));

  return {
    save,
    stored: stored.promise,
    async close() {
      cancelTimer();
      if (isStored) return;
      await storeRun().catch(stored.reject);
    },
  };
}
