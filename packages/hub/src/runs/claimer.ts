/** Claims due runs while there are free slots. */
import { type ClaimLoop, createClaimLoop } from "../lib/claim-loop.ts";
import { type Instant, instant } from "../lib/elapsed.ts";
import type { Timers } from "../lib/timers.ts";
import { ALL_SHARES, type ClaimedRun } from "../store/run-store.ts";
import type { Store } from "../store/store.ts";
import type { Slots } from "./slots.ts";

export interface ClaimerOptions {
  store: Pick<Store, "claimRuns" | "nextDue">;
  worker: string;
  leaseMs: number;
  timers: Timers;
  slots: Pick<Slots, "countFree" | "occupy" | "admitWaiting">;
  /** Renews the leases of this process that have expired, so that it does not claim its own runs. */
  renewExpired(): Promise<void>;
  /** Resolves when this process no longer executes the run. */
  execute(run: ClaimedRun, leaseStart: Instant): Promise<void>;
  onError(error: unknown): void;
}

export function createClaimer(options: ClaimerOptions): ClaimLoop {
  const { store, worker, leaseMs, timers, slots, renewExpired, execute, onError } = options;
  return createClaimLoop<{ claimed: ClaimedRun; leaseStart: Instant }>({
    timers,
    freeCapacity: slots.countFree,
    async claim(limit) {
      await renewExpired();
      const leaseStart = instant(timers);
      const { now } = leaseStart;
      const runs = await store.claimRuns({ worker, now, until: now + leaseMs }, limit, ALL_SHARES);
      return runs.map((claimed) => ({ claimed, leaseStart }));
    },
    nextDue: store.nextDue,
    begin({ claimed, leaseStart }) {
      const release = slots.occupy(claimed.run.id);
      return execute(claimed, leaseStart).finally(release);
    },
    // Runs that continue after a call get free slots before new runs are claimed.
    onRequested: slots.admitWaiting,
    onError,
  });
}
