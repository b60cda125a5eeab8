/** Claims due runs while there are free slots. */
import { type ClaimLoop, createClaimLoop } from "../lib/claim-loop.ts";
import type { Timers } from "../lib/timers.ts";
import type { ClaimedRun } from "../store/run-store.ts";
import type { Store } from "../store/store.ts";
import type { Slots } from "./slots.ts";

export interface ClaimerOptions {
  store: Pick<Store, "claimRuns" | "nextDue">;
  worker: string;
  leaseMs: number;
  timers: Timers;
  slots: Pick<Slots, "free" | "occupy" | "admitWaiting">;
  /** Renews the leases of this process that have expired, so that it does not claim its own runs. */
  renewExpired(): Promise<void>;
  /** Resolves when this process no longer executes the run. */
  execute(run: ClaimedRun): Promise<void>;
  onError(error: unknown): void;
}

export function createClaimer(options: ClaimerOptions): ClaimLoop {
  const { store, worker, leaseMs, timers, slots, renewExpired, execute, onError } = options;
  return createClaimLoop<ClaimedRun>({
    timers,
    free: slots.free,
    async claim(limit) {
      await renewExpired();
      const now = timers.now();
      return store.claimRuns({ worker, now, until: now + leaseMs }, limit);
    },
    nextDue: store.nextDue,
    begin(run) {
      const release = slots.occupy(run.run.id);
      return execute(run).finally(release);
    },
    onRequested: slots.admitWaiting,
    onError,
  });
}
