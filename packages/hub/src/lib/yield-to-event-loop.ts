/**
 * On SQLite a read blocks the thread, and the promise of its result does not let other work run. Long
 * work with many reads therefore yields between them.
 */
export const yieldToEventLoop = (): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, 0));

const SLICE_MS = 10;

/** Returns a function that yields if a time slice is over. */
export function createTimeSlice(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < SLICE_MS) return;
    await yieldToEventLoop();
    since = performance.now();
  };
}
