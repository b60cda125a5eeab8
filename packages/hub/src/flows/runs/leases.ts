/**
 * Tracks whether this process still holds the leases of the runs that it executes. A process that was
 * paused, for example because the machine slept, may continue after its leases have expired. Another
 * worker may have claimed its runs by then. Therefore an old lease is renewed before each effect of a run.
 */

import { elapsedSince, type Instant, instant, type Timers } from "../../kernel/lib/timers.ts";
import { awaitStorage } from "../../kernel/store/availability.ts";
import type { Store } from "../../store.ts";
import { ExecutionAborted } from "./step-records.ts";

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

export interface EffectsOptions {
  lease: { isFresh(): boolean; ensureFresh(): Promise<boolean> };
  timers: Pick<Timers, "after">;
  /** Aborted when this process no longer executes the run. */
  signal: AbortSignal;
  /** Called when another worker has claimed the run. */
  onLost(): void;
}

/** Checks the lease of a run right before each of its effects. */
export interface Effects {
  /**
   * Performs an effect. Throws `ExecutionAborted` if another worker has claimed the run.
   *
   * The effect should call `beforeSend` right before it sends the first bytes, because the lease may
   * become old before that, for example while a connection is opened. If the lease is old,
   * `beforeSend` throws, and the effect is performed again after the lease was renewed.
   *
   * If an effect fails because the storage is unavailable, it is performed again, unless it has
   * called `beforeSend`.
   */
  perform<Result>(effect: (beforeSend: () => void) => Promise<Result>): Promise<Result>;
}

export function createEffects({ lease, timers, signal, onLost }: EffectsOptions): Effects {
  const assertHeld = async (): Promise<void> => {
    if (await lease.ensureFresh()) return;
    onLost();
    throw new ExecutionAborted();
  };
  return {
    perform(effect) {
      let isSent = false;
      const tryOnce = async () => {
        for (;;) {
          // Throws while the storage is unavailable, because another worker may hold the run.
          if (!lease.isFresh()) await assertHeld();
          let isStale = false;
          const beforeSend = () => {
            isStale = !lease.isFresh();
            if (isStale) throw new ExecutionAborted();
            isSent = true;
          };
          try {
            return await effect(beforeSend);
          } catch (error) {
            if (!isStale) throw error; // if the lease is stale, nothing was sent
          }
        }
      };
      return awaitStorage(timers, () => !isSent && !signal.aborted, tryOnce);
    },
  };
}
