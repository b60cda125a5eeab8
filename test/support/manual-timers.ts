/** Creates timers that fire only when the test advances the clock. */
export function createManualTimers() {
  let now = 0;
  const pending = new Set<{ at: number; run: () => void }>();
  return {
    timers: {
      now: () => now,
      set(run: () => void, ms: number) {
        const timer = { at: now + ms, run };
        pending.add(timer);
        return () => void pending.delete(timer);
      },
    },
    pending: () => pending.size,
    /** Fires the timers that are due. Resolves after the promises that they settle have been handled. */
    async advance(ms: number): Promise<void> {
      now += ms;
      for (const timer of pending)
        if (timer.at <= now) {
          pending.delete(timer);
          timer.run();
        }
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
