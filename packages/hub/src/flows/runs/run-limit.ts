/**
 * The limit `SIGNALBOX_RUNS_AT_ONCE`: how many runs from the queue may execute here at the same time, also
 * those that only wait. If a run waits for a run that it has called, and the called run must be claimed,
 * the caller does not count, and is admitted again before it continues. Otherwise callers could reach the
 * limit, and the called runs would never start.
 */
export interface RunLimitOptions {
  /** Infinity if there is no limit. */
  max: number;
  /** True while this process executes the run, claimed or not. */
  isExecuting(run: string): boolean;
}

export interface RunLimit {
  /**
   * How many more runs may be claimed. Negative if a call has ended, and another run was claimed in place
   * of the caller.
   */
  countFree(): number;
  /** Counts a claimed run; the returned function ends that. */
  occupy(run: string): () => void;
  /** Registers that `caller` waits for `called`; the returned function removes the registration. */
  addCall(caller: string, called: string): () => void;
  hasCalls(caller: string): boolean;
  /**
   * Resolves when a caller may continue: immediately if no other run was claimed in its place, or if it was
   * not claimed from the queue.
   */
  readmit(run: string): Promise<void>;
  /** Removes a run that waits in `readmit`, because its execution has ended. */
  removeWaiting(run: string): void;
  /** Admits the runs that wait in `readmit`, in order, up to the limit. */
  admitWaiting(): void;
}

export function createRunLimit({ max, isExecuting }: RunLimitOptions): RunLimit {
  /** The runs that were claimed here. The symbol identifies the claim. */
  const claimed = new Map<string, symbol>();
  /** For each caller, the called runs that it waits for. */
  const calls = new Map<string, Set<string>>();
  const waiting = new Map<string, PromiseWithResolvers<void>>();

  /**
   * A caller counts while all runs that it waits for execute here without a claim: they count together
   * with it. If one of them, or of the runs that they call, must be or was claimed, the caller does not
   * count.
   */
  const isReplaced = (caller: string): boolean =>
    [...(calls.get(caller) ?? [])].some(
      (called) => !isExecuting(called) || claimed.has(called) || isReplaced(called),
    );
  const countFree = (): number => {
    if (max === Number.POSITIVE_INFINITY) return max;
    let taken = 0;
    for (const run of claimed.keys()) if (!waiting.has(run) && !isReplaced(run)) taken += 1;
    return max - taken;
  };

  return {
    countFree,
    occupy(run) {
      const claim = Symbol(run);
      claimed.set(run, claim);
      return () => {
        // If the lease expired, the same run may have been claimed again.
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
    async readmit(run) {
      // After the call, the run counts again. If another one was claimed in its place, `countFree` is
      // negative.
      if (!claimed.has(run) || (!waiting.has(run) && countFree() >= 0)) return;
      const admitted = waiting.get(run) ?? Promise.withResolvers<void>();
      waiting.set(run, admitted);
      await admitted.promise;
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
