/**
 * Limits how many runs from the queue execute concurrently. If a run waits for a run that it has called,
 * and the called run needs a slot, the slot of the caller counts as free, and the caller acquires one
 * again before it continues. Otherwise callers could hold all slots, and the called runs would never
 * start.
 */
export interface SlotsOptions {
  concurrency: number;
  /** True while this process executes the run, with or without a slot. */
  isExecuting(run: string): boolean;
}

export interface Slots {
  /**
   * How many more runs may be claimed. Negative if a call has ended, and another run has the caller's
   * former slot.
   */
  countFree(): number;
  /** Gives a claimed run a slot; the returned function releases it. */
  occupy(run: string): () => void;
  /** Registers that `caller` waits for `called`; the returned function removes the registration. */
  addCall(caller: string, called: string): () => void;
  hasCalls(caller: string): boolean;
  /** Resolves when a caller may continue: immediately if no other run has taken its slot, or if it never had one. */
  acquireSlot(run: string): Promise<void>;
  /** Removes a run that waits in `acquireSlot`, because its execution has ended. */
  removeWaiting(run: string): void;
  /** Gives free slots to the runs that wait in `acquireSlot`, in order. */
  admitWaiting(): void;
}

export function createSlots({ concurrency, isExecuting }: SlotsOptions): Slots {
  /** The runs that have a slot, or had one before a call. The symbol identifies the claim. */
  const claimed = new Map<string, symbol>();
  /** For each caller, the called runs that it waits for. */
  const calls = new Map<string, Set<string>>();
  const waiting = new Map<string, PromiseWithResolvers<void>>();

  /**
   * A caller's slot counts as taken while all runs that it waits for execute here without a slot: the
   * caller and the called runs then use one slot together. If one of them, or of the runs that they
   * call, needs or has a slot, the caller's slot counts as free.
   */
  const hasReleased = (caller: string): boolean =>
    [...(calls.get(caller) ?? [])].some(
      (called) => !isExecuting(called) || claimed.has(called) || hasReleased(called),
    );
  const countFree = (): number => {
    let taken = 0;
    for (const run of claimed.keys()) if (!waiting.has(run) && !hasReleased(run)) taken += 1;
    return concurrency - taken;
  };

  return {
    countFree,
    occupy(run) {
      const claim = Symbol(run);
      claimed.set(run, claim);
      return () => {
        // If the lease expired, the same run may have been claimed again, with a new slot.
        if (claimed.get(run) === claim) claimed.delete(run);
      };
    },
    addCall(caller, called) {
      const runs = calls.get(caller) ?? new Set();
      calls.set(caller, runs.add(called));
      return () => {
        if (runs.delete(called) && runs.size === 0) calls.delete(caller);
      };
    },
    hasCalls: (caller) => calls.has(caller),
    async acquireSlot(run) {
      // After the call, the run's slot counts as taken again. If another run has it, `countFree` is
      // negative.
      if (!claimed.has(run) || (!waiting.has(run) && countFree() >= 0)) return;
      const slot = waiting.get(run) ?? Promise.withResolvers<void>();
      waiting.set(run, slot);
      await slot.promise;
    },
    removeWaiting: (run) => void waiting.delete(run),
    admitWaiting() {
      for (const [run, { resolve }] of waiting) {
        if (countFree() <= 0) return;
        waiting.delete(run);
        resolve();
      }
    },
  };
}
