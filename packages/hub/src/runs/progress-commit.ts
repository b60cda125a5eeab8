/**
 * Steps that end at the same time share one transaction. While one batch is written the next one
 * gathers. When `save` resolves, the steps survive a crash. What no store could take harms nobody else.
 */
import type { RunProgress } from "../store/run-store.ts";
import type { Store } from "../store/store.ts";

export type SaveProgress = (progress: RunProgress) => Promise<"saved" | "lost">;

export interface ProgressCommitOptions {
  store: Pick<Store, "saveProgress" | "isDataError">;
  /**
   * Lets the host do what else there is first. Without it, a run on a store that answers at once
   * would keep the thread from step to step, and nothing else would get its turn.
   */
  soon: (work: () => void) => void;
}

const MOST = 200;
/** So many that fail alone, and not for what they hold, tell of trouble that all would have. */
const ENOUGH = 2;

/** It is for what it holds, so that trying again is of no use. */
export class CannotBeSaved extends Error {}

interface Entry {
  progress: RunProgress;
  resolve(outcome: "saved" | "lost"): void;
  reject(error: unknown): void;
}

export function createProgressCommit({ store, soon }: ProgressCommitOptions): SaveProgress {
  const queue: Entry[] = [];
  let writing = false;

  const writeTogether = async (batch: readonly Entry[]) => {
    const outcomes = await store.saveProgress(batch.map(({ progress }) => progress));
    batch.forEach(({ resolve }, at) => {
      resolve(outcomes[at] ?? "lost");
    });
  };
  const writeAlone = async (batch: readonly Entry[]) => {
    let troubles = 0;
    let trouble: unknown;
    for (const entry of batch) {
      if (troubles < ENOUGH)
        try {
          await writeTogether([entry]);
          continue;
        } catch (error) {
          trouble = toldOf(error, entry.progress);
          if (!(trouble instanceof CannotBeSaved)) troubles += 1;
        }
      entry.reject(trouble);
    }
  };
  const toldOf = (error: unknown, progress: RunProgress): unknown => {
    const isOfData =
      store.isDataError(error) || error instanceof RangeError || !isSerialisable(progress);
    if (!isOfData) return error;
    const message = error instanceof Error ? error.message : String(error);
    return new CannotBeSaved(message, { cause: error });
  };

  const write = async () => {
    writing = true;
    while (queue.length > 0) {
      await new Promise<void>(soon);
      const batch = queue.splice(0, MOST);
      try {
        await writeTogether(batch);
      } catch (error) {
        const [only, ...others] = batch;
        if (only && others.length === 0) only.reject(toldOf(error, only.progress));
        else await writeAlone(batch);
      }
    }
    writing = false;
  };

  return (progress) =>
    new Promise((resolve, reject) => {
      queue.push({ progress, resolve, reject });
      if (!writing) void write();
    });
}

function isSerialisable(progress: RunProgress): boolean {
  try {
    JSON.stringify(progress);
    return true;
  } catch {
    return false;
  }
}
