/**
 * Limits how many claimed runs execute concurrently. A run that waits for a run it called releases
 * its slot and acquires one again before it continues: otherwise callers could hold every slot while
 * the runs that they wait for never get one.
 */
export interface SlotsOptions {
  concurrency: number;
  /** True while this process executes the run, with or without a slot. */
  isExecuting(run: string): boolean;
}

export interface Slots {
  /** How many more runs may be claimed now. */
  free(): number;
  /** Gives a claimed run a slot; the returned function releases it. */
  occupy(run: string): () => void;
  /** Notes that `caller` waits for `called`; the returned function ends that. */
  addCall(caller: string, called: string): () => void;
  hasCalls(caller: string): boolean;
  /** Resolves when the run may continue after a call. Runs without a slot continue immediately. */
  acquireSlot(run: string): Promise<void>;
  /** Drops a run that waits in `acquireSlot`; its execution has ended. */
  abandon(run: string): void;
  /** Gives free slots to the runs that wait in `acquireSlot`, in order. */
  admitWaiting(): void;
}

export function createSlots({ concurrency, isExecuting }: SlotsOptions): Slots {
  const claimed = new Map<string, symbol>();
  /** By the calling run: the called runs that it waits for. */
  const calls = new Map<string, Set<string>>();
  const waiting = new Map<string, PromiseWithResolvers<void>>();

  /** A called run that executes here without a slot uses its caller's. Any other needs its own. */
  const hasReleased = (caller: string): boolean =>
    [...(calls.get(caller) ?? [])].some(
      (called) => !isExecuting(called) || claimed.has(called) || hasReleased(called),
    );
  const free = (): number => {
    let taken = 0;
    for (const run of claimed.keys()) if (!waiting.has(run) && !hasReleased(run)) taken += 1;
    return concurrency - taken;
  };

  return {
    free,
    occupy(run) {
      const claim = Symbol(run);
      claimed.set(run, claim);
      return () => {
        // After its lease expired, the same run may have been claimed again.
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
      if (!claimed.has(run) || (!waiting.has(run) && free() >= 0)) return;
      const slot = waiting.get(run) ?? Promise.withResolvers<void>();
      waiting.set(run, slot);
      await slot.promise;
    },
    abandon: (run) => void waiting.delete(run),
    admitWaiting() {
      for (const [run, { resolve }] of waiting) {
        if (free() <= 0) return;
        waiting.delete(run);
        resolve();
      }
    },
  };
}
