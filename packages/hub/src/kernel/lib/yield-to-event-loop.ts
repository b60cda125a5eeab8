/**
 * On SQLite, a read blocks the thread, and awaiting its result does not yield to the event loop.
 * Therefore work with many reads calls this function between them.
 */
export const yieldToEventLoop = (): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, 0));

const SLICE_MS = 10;

/** Returns a function that yields to the event loop if the current time slice is over. */
export function createTimeSlice(): () => Promise<void> {
  let startedAt = performance.now();
  return async () => {
    if (performance.now() - startedAt < SLICE_MS) return;
    await yieldToEventLoop();
    startedAt = performance.now();
  };
}
