/** Checks the lease of a run right before each of its effects. */
import type { GuardedFetch } from "@signalbox/rules/flows/outbound.ts";
import type { Timers } from "../lib/timers.ts";
import { isStorageUnavailable } from "../store/storage-unavailable.ts";
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
   * again once the lease was renewed.
   */
  perform<Result>(effect: (beforeSend: () => void) => Promise<Result>): Promise<Result>;
  guard(fetch: GuardedFetch): GuardedFetch;
}

const RETRY_MS = 500;

export function createEffects({ lease, timers, signal, onLost }: EffectsOptions): Effects {
  /** While the store is unavailable, it is unknown who holds the run: effects wait. */
  const holds = async (): Promise<boolean> => {
    for (;;) {
      if (signal.aborted) throw new ExecutionAborted();
      try {
        return await lease.holds();
      } catch (error) {
        if (!isStorageUnavailable(error)) throw error;
        await new Promise<void>((resolve) => timers.after(RETRY_MS, resolve));
      }
    }
  };
  const hold = async (): Promise<void> => {
    if (await holds()) return;
    onLost();
    throw new ExecutionAborted();
  };
  const perform: Effects["perform"] = async (effect) => {
    for (;;) {
      if (!lease.isFresh()) await hold();
      let isStale = false;
      const beforeSend = () => {
        isStale = !lease.isFresh();
        if (isStale) throw new ExecutionAborted();
      };
      try {
        return await effect(beforeSend);
      } catch (error) {
        if (!isStale) throw error; // otherwise nothing was sent
      }
    }
  };
  return {
    perform,
    guard: (fetch) => (request) => perform((beforeSend) => fetch({ ...request, beforeSend })),
  };
}
