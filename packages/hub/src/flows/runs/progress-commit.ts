/**
 * Saves the progress of runs. Concurrent saves share one transaction. When a save resolves, its steps
 * survive a crash. A value that cannot be saved fails only its own run.
 */
import { type MixedJson, writeJson } from "@signalbox/rules/large-json.ts";
import { createBatcher } from "../../kernel/lib/batcher.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import { isStorageUnavailable } from "../../kernel/store/availability.ts";
import type { Store } from "../../store.ts";
import type { ClaimedRun, ImmediateRun, RunLease, RunProgress, WrittenStep } from "./model.ts";

/**
 * `lost`: another worker holds the run, or the run has ended. `delayed`: the steps are stored later;
 * see `createDeferredStart`.
 */
export type SaveOutcome = "saved" | "lost" | "delayed";

export type SaveProgress = (
  progress: RunProgress,
  options?: {
    /** True if only nodes without effects depend on the steps. Then the steps may be saved later. */
    canWait?: boolean;
  },
) => Promise<SaveOutcome>;

export interface ProgressCommitOptions {
  store: Pick<Store, "saveProgress" | "isDataError">;
  /** With a synchronous store, only this `defer` makes a run yield to the event loop. */
  timers: Pick<Timers, "defer">;
}

const MAX_BATCH = 200;

/** The content of the progress cannot be saved, so a retry would fail too. */
export class CannotBeSaved extends Error {}

export function createProgressCommit({ store, timers }: ProgressCommitOptions): SaveProgress {
  /** Whether the content of the items caused the error. */
  const isItemError = (error: unknown, items: readonly RunProgress[]): boolean =>
    !isStorageUnavailable(error) &&
    (store.isDataError(error) || error instanceof RangeError || !items.every(isSerializable));
  const batcher = createBatcher<RunProgress, "saved" | "lost">({
    flush: (items) => store.saveProgress(items),
    defer: timers.defer,
    maxItems: MAX_BATCH,
    isItemError,
  });
  return async (progress) => {
    try {
      return await batcher.add(progress);
    } catch (error) {
      if (!isItemError(error, [progress])) throw error;
      const message = error instanceof Error ? error.message : String(error);
      throw new CannotBeSaved(message, { cause: error });
    }
  };
}

function isSerializable(progress: RunProgress): boolean {
  try {
    writeJson(progress as object as MixedJson);
    return true;
  } catch {
    return false;
  }
}

const STORE_AFTER_MS = 100;

interface DeferredStartOptions {
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

/**
 * Delays the first commit of a run that a caller waits for. Until the run reaches a node with effects,
 * is suspended or ends, its steps are only collected. If the process crashes before that, the caller
 * gets no result, and the run has had no effects. Therefore a short run without effects needs only one
 * commit. A run that takes longer is stored after `STORE_AFTER_MS`, so that clients can see it.
 */
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
