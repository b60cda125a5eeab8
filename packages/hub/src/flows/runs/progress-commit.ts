/**
 * Saves the progress of runs. Concurrent saves share one transaction. When a save resolves, its steps
 * survive a crash. A value that cannot be saved fails only its own run.
 */
import { type MixedJson, writeJson } from "@signalbox/rules/large-json.ts";
import { createBatcher } from "../../kernel/lib/batcher.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import { isStorageUnavailable } from "../../kernel/store/storage-unavailable.ts";
import type { Store } from "../../store.ts";
import type { RunProgress } from "./model.ts";

/**
 * `lost`: another worker holds the run, or the run has ended. `delayed`: the steps are stored later;
 * see deferred-start.ts.
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
