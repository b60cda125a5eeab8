/**
 * Saves the progress of all deliveries in few transactions. There is a pause between two of them, so
 * that the disk stays free for incoming webhooks; progress that is recorded meanwhile is saved together.
 */
import { createBatcher } from "../lib/batcher.ts";
import type { Timers } from "../lib/timers.ts";
import type { DeliveryProgress, SubscriptionStore } from "../store/store.ts";

export interface RecorderOptions {
  store: Pick<SubscriptionStore, "recordProgress">;
  by: string;
  after: Timers["after"];
}

const PAUSE_MS = 20;

export function createRecorder({ store, by, after }: RecorderOptions) {
  let withoutPauses = false;
  /** Undefined while there is no pause. */
  let endPause: (() => void) | undefined;
  let deferred: (() => void) | undefined;

  const pause = () => {
    if (withoutPauses) return;
    const cancel = after(PAUSE_MS, () => endPause?.());
    endPause = () => {
      cancel();
      endPause = undefined;
      const flushNow = deferred;
      deferred = undefined;
      flushNow?.();
    };
  };

  const { add } = createBatcher<DeliveryProgress, boolean>({
    defer(work) {
      if (endPause) deferred = work;
      else work();
    },
    async flush(batch) {
      // Of several entries for one subscription, the last one includes the others.
      const latest = new Map(batch.map((progress) => [progress.id, progress]));
      try {
        const held = new Set(await store.recordProgress(by, [...latest.values()]));
        return batch.map(({ id }) => held.has(id));
      } finally {
        pause();
      }
    },
  });

  return {
    /** Resolves when the progress is durable; with false if `by` no longer holds the subscription. */
    record: (progress: DeliveryProgress): Promise<boolean> => add({ ...progress }),
    /** Ends the current pause, and pauses no more: for a shutdown. */
    skipPauses(): void {
      withoutPauses = true;
      endPause?.();
    },
  };
}
