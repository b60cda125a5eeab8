/**
 * Saves the progress of all deliveries in few transactions. It pauses between two transactions, so that
 * incoming webhooks can use the disk, and batches the progress that is recorded during the pause.
 */
import { createBatcher } from "../../kernel/lib/batcher.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import type { Store } from "../../store.ts";
import type { DeliveryProgress } from "./model.ts";

export interface RecorderOptions {
  store: Pick<Store, "recordProgress">;
  by: string;
  after: Timers["after"];
}

const PAUSE_MS = 20;

export function createRecorder({ store, by, after }: RecorderOptions) {
  let isPausingDisabled = false;
  /** Undefined while there is no pause. */
  let endPause: (() => void) | undefined;
  let deferredFlush: (() => void) | undefined;

  const pause = () => {
    if (isPausingDisabled) return;
    const cancel = after(PAUSE_MS, () => endPause?.());
    endPause = () => {
      cancel();
      endPause = undefined;
      const flush = deferredFlush;
      deferredFlush = undefined;
      flush?.();
    };
  };

  const { add } = createBatcher<DeliveryProgress, boolean>({
    defer(work) {
      if (endPause) deferredFlush = work;
      else work();
    },
    async flush(batch) {
      // The last progress of a subscription replaces its earlier ones.
      const latest = new Map(batch.map((progress) => [progress.id, progress]));
      try {
        const leased = new Set(await store.recordProgress(by, [...latest.values()]));
        return batch.map(({ id }) => leased.has(id));
      } finally {
        pause();
      }
    },
  });

  return {
    /** Resolves when the progress is saved, or with false if `by` no longer holds the lease. */
    record: (progress: DeliveryProgress): Promise<boolean> => add({ ...progress }),
    /** Ends the current pause, and disables further pauses, for a shutdown. */
    skipPauses(): void {
      isPausingDisabled = true;
      endPause?.();
    },
  };
}
