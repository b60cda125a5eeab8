/** Checks the lease of a run right before each of its effects. */
import type { GuardedFetch } from "@signalbox/rules/flows/outbound.ts";
import type { Timers } from "../lib/timers.ts";
import { awaitStorage } from "./await-storage.ts";
import { ExecutionAborted } from "./step-records.ts";

export interface EffectsOptions {
  lease: { isFresh(): boolean; holds(): Promise<boolean> };
  timers: Pick<Timers, "after">;
  /** Aborted when this process no longer executes the run. */
  signal: AbortSignal;
  /** Called when another worker has claimed the run. */
  onLost(): void;
}

export interface Effects {
  /**
   * Throws `ExecutionAborted` if another worker has claimed the run. The effect should call
   * `beforeSend` right before it sends the first bytes: what precedes them may take long, such as
   * opening a connection. If the lease is old then, `beforeSend` throws, and the effect is performed
   * again once the lease was renewed. An effect that fails because the storage is unavailable is also
   * performed again, unless it was sent.
   */
  perform<Result>(effect: (beforeSend: () => void) => Promise<Result>): Promise<Result>;
  guard(fetch: GuardedFetch): GuardedFetch;
}

export function createEffects({ lease, timers, signal, onLost }: EffectsOptions): Effects {
  const hold = async (): Promise<void> => {
    if (await lease.holds()) return;
    onLost();
    throw new ExecutionAborted();
  };
  const perform: Effects["perform"] = (effect) => {
    let isSent = false;
    const tryOnce = async () => {
      for (;;) {
        // While the storage is unavailable, it is unknown who holds the run.
        if (!lease.isFresh()) await hold();
        let isStale = false;
        const beforeSend = () => {
          isStale = !lease.isFresh();
          if (isStale) throw new ExecutionAborted();
          isSent = true;
        };
        try {
          return await effect(beforeSend);
        } catch (error) {
          if (!isStale) throw error; // otherwise nothing was sent
        }
      }
    };
    return awaitStorage(timers, () => !isSent && !signal.aborted, tryOnce);
  };
  return {
    perform,
    guard: (fetch) => (request) => perform((beforeSend) => fetch({ ...request, beforeSend })),
  };
}
