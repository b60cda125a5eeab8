/**
 * Progress of all deliveries in few transactions: what comes while one is written, or shortly after,
 * goes with the next. However much is delivered, webhooks that come in get their turn at the disk.
 */
import type { DeliveryProgress, SubscriptionStore } from "../store/store.ts";

export interface RecorderOptions {
  store: Pick<SubscriptionStore, "recordProgress">;
  by: string;
  /** Calls back after some time; answers with what prevents it. */
  after(ms: number, work: () => void): () => void;
}

const PAUSE_MS = 20;

interface Waiting {
  progress: DeliveryProgress;
  resolve(held: boolean): void;
  reject(error: unknown): void;
}

export function createRecorder({ store, by, after }: RecorderOptions) {
  let waiting: Waiting[] = [];
  let writing = false;
  let hurried = false;
  let goOn = () => {};

  const pause = () =>
    new Promise<void>((resolve) => {
      const cancel = after(PAUSE_MS, resolve);
      goOn = () => {
        cancel();
        resolve();
      };
      if (hurried) goOn();
    });
  const write = async () => {
    if (writing) return;
    writing = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      // Of several by one subscription, the last says it all.
      const latest = new Map(batch.map(({ progress }) => [progress.id, progress]));
      try {
        const held = new Set(await store.recordProgress(by, [...latest.values()]));
        for (const { progress, resolve } of batch) resolve(held.has(progress.id));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
      await pause();
    }
    writing = false;
  };

  return {
    /** Resolves when it is durable; false where the subscription is gone, or another process has it. */
    record: (progress: DeliveryProgress): Promise<boolean> =>
      new Promise((resolve, reject) => {
        waiting.push({ progress: { ...progress }, resolve, reject });
        void write();
      }),
    /** From now on without pauses. */
    hurry(): void {
      hurried = true;
      goOn();
    },
  };
}
