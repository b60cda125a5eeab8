import type { Timers } from "../lib/timers.ts";

const SLICE_MS = 10;

/**
 * For long loops: the returned function returns a promise when the time slice is used up. Awaiting
 * the promise yields to the event loop and starts the next slice.
 */
export function createTimeSlice({
  now,
  defer,
}: Pick<Timers, "now" | "defer">): () => Promise<void> | undefined {
  let start = now();
  return () =>
    now() - start < SLICE_MS
      ? undefined
      : new Promise((resolve) =>
          defer(() => {
            start = now();
            resolve();
          }),
        );
}
