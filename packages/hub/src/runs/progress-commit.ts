/**
 * Steps that end at the same time share one transaction. While one batch is written the next one
 * gathers, so a run on its own waits for nobody. When `save` resolves, the steps survive a crash.
 */
import type { RunProgress, RunStore } from "../store/run-store.ts";

export type SaveProgress = (progress: RunProgress) => Promise<"saved" | "lost">;

const MOST = 200;

export function createProgressCommit(store: Pick<RunStore, "saveProgress">): SaveProgress {
  const queue: {
    progress: RunProgress;
    resolve(outcome: "saved" | "lost"): void;
    reject(error: unknown): void;
  }[] = [];
  let writing = false;

  const write = async () => {
    writing = true;
    while (queue.length > 0) {
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
      // At the end of the turn: what other runs have ended in it goes along.
      if (!writing) queueMicrotask(() => void (writing || write()));
    });
}
