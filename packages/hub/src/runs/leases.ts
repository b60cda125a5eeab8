/**
 * Knows whether this process still holds the runs that it executes. A process that was suspended may
 * wake up after its leases have expired, and another worker may have continued its runs. Therefore it
 * renews an old lease before it causes an effect.
 */
import { elapsedSince, type Instant, instant } from "../lib/elapsed.ts";
import type { Timers } from "../lib/timers.ts";
import type { Store } from "../store/store.ts";

export interface LeasesOptions {
  store: Pick<Store, "renewRuns">;
  timers: Pick<Timers, "now" | "monotonic">;
  worker: string;
  leaseMs: number;
}

export interface Leases {
  /** `since`: when the claim was requested. */
  begin(run: string, since: Instant): void;
  end(run: string): void;
  /** Extends the leases; returns the runs that are to be cancelled. */
  renew(runs: readonly string[]): Promise<readonly string[]>;
  /** Whether no other worker can have claimed the run, by the clocks of this process. */
  isFresh(run: string): boolean;
  /** Renews the lease if it is old. False if another worker has claimed the run, or after `end`. */
  holds(run: string): Promise<boolean>;
}

/** The rest is for the time between the check and the effect, and for clocks that differ. */
const FRESH_PART = 0.8;

export function createLeases({ store, timers, worker, leaseMs }: LeasesOptions): Leases {
  const renewedAt = new Map<string, Instant>();
  const isFresh = (run: string): boolean => {
    const at = renewedAt.get(run);
    return at !== undefined && elapsedSince(timers, at) < leaseMs * FRESH_PART;
  };
  const renew = async (runs: readonly string[]) => {
    const at = instant(timers);
    const lease = { worker, now: at.now, until: at.now + leaseMs };
    const { renewed, cancelRequested } = await store.renewRuns(lease, runs);
    for (const run of renewed) if (renewedAt.has(run)) renewedAt.set(run, at);
    return { renewed, cancelRequested };
  };
  return {
    begin: (run, since) => void renewedAt.set(run, since),
    end: (run) => void renewedAt.delete(run),
    renew: async (runs) => (await renew(runs)).cancelRequested,
    isFresh,
    async holds(run) {
      // In a loop: the process may be suspended again while it renews the lease.
      while (!isFresh(run))
        if (!renewedAt.has(run) || !(await renew([run])).renewed.includes(run)) return false;
      return true;
    },
  };
}
