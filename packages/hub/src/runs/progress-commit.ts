/**
 * Steps that end at the same time share one transaction. While one batch is written the next one
 * gathers. When `save` resolves, the steps survive a crash.
 */
import type { RunProgress, RunStore } from "../store/run-store.ts";

export type SaveProgress = (progress: RunProgress) => Promise<"saved" | "lost">;

export interface ProgressCommitOptions {
  store: Pick<RunStore, "saveProgress">;
  /**
   * Lets the host do what else there is first. Without it, a run on a store that answers at once
   * would keep the thread from step to step, and nothing else would get its turn.
   */
  soon: (work: () => void) => void;
}

const MOST = 200;

export function createProgressCommit({ store, soon }: ProgressCommitOptions): SaveProgress {
  const queue: {
    progress: RunProgress;
    resolve(outcome: "saved" | "lost"): void;
    reject(error: unknown): void;
  }[] = [];
  let writing = false;

  const write = async () => {
    writing = true;
    while (queue.length > 0) {
      await new Promise<void>(soon);
      const batch = queue.splice(0, MOST);
      try {
        const outcomes = await store.saveProgress(batch.map(({ progress }) => progress));
        batch.forEach(({ resolve }, at) => {
          resolve(outcomes[at] ?? "lost");
        });
      } catch (error) {
        for (const { reject } of batch) reject(error);
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
