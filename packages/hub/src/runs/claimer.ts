/** Claims due runs while there are free slots. */
import { type ClaimLoop, createClaimLoop } from "../lib/claim-loop.ts";
import { type Instant, instant } from "../lib/elapsed.ts";
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
  execute(run: ClaimedRun, since: Instant): Promise<void>;
  onError(error: unknown): void;
}

export function createClaimer(options: ClaimerOptions): ClaimLoop {
  const { store, worker, leaseMs, timers, slots, renewExpired, execute, onError } = options;
  return createClaimLoop<{ claimed: ClaimedRun; since: Instant }>({
    timers,
    freeCapacity: slots.free,
    async claim(limit) {
      await renewExpired();
      const since = instant(timers);
      const { now } = since;
      const runs = await store.claimRuns({ worker, now, until: now + leaseMs }, limit);
      return runs.map((claimed) => ({ claimed, since }));
    },
    nextDue: store.nextDue,
    begin({ claimed, since }) {
      const release = slots.occupy(claimed.run.id);
      return execute(claimed, since).finally(release);
    },
    onRequested: slots.admitWaiting,
    onError,
  });
}
