/**
 * Tracks whether this process still holds the leases of the runs that it executes. A process that was
 * paused, for example because the machine slept, may continue after its leases have expired. Another
 * worker may have claimed its runs by then. Therefore an old lease is renewed before each effect.
 */
import { elapsedSince, type Instant, instant } from "../../kernel/lib/elapsed.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import type { Store } from "../../store.ts";

export interface LeasesOptions {
  store: Pick<Store, "renewRuns">;
  timers: Pick<Timers, "now" | "monotonic">;
  worker: string;
  leaseMs: number;
}

export interface Leases {
  /** `leaseStart`: the time right before the claim was requested, when the lease begins. */
  begin(run: string, leaseStart: Instant): void;
  end(run: string): void;
  /** Extends the leases; returns the runs that are to be cancelled. */
  renew(runs: readonly string[]): Promise<readonly string[]>;
  /** True if, by the clocks of this process, no other worker can have claimed the run. */
  isFresh(run: string): boolean;
  /** Renews the lease unless it is fresh. False if this worker no longer holds the run, or if `end` was called. */
  ensureFresh(run: string): Promise<boolean>;
}

/**
 * A lease counts as fresh for this fraction of its duration. The margin is for the time between the
 * check and the effect, and for clocks that differ.
 */
const FRESH_SHARE = 0.8;

export function createLeases({ store, timers, worker, leaseMs }: LeasesOptions): Leases {
  const renewedAt = new Map<string, Instant>();
  const isFresh = (run: string): boolean => {
    const at = renewedAt.get(run);
    return at !== undefined && elapsedSince(timers, at) < leaseMs * FRESH_SHARE;
  };
  const renew = async (runs: readonly string[]) => {
    const at = instant(timers);
    const lease = { worker, now: at.now, until: at.now + leaseMs };
    const { renewed, cancelRequested } = await store.renewRuns(lease, runs);
    for (const run of renewed) if (renewedAt.has(run)) renewedAt.set(run, at);
    return { renewed, cancelRequested };
  };
  return {
    begin: (run, leaseStart) => void renewedAt.set(run, leaseStart),
    end: (run) => void renewedAt.delete(run),
    renew: async (runs) => (await renew(runs)).cancelRequested,
    isFresh,
    async ensureFresh(run) {
      // In a loop: the process may be paused again while it renews the lease.
      while (!isFresh(run))
        if (!renewedAt.has(run) || !(await renew([run])).renewed.includes(run)) return false;
      return true;
    },
  };
}
