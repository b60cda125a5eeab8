/** Checks the lease of a run right before each of its effects. */
import type { GuardedFetch } from "@signalbox/rules/flows/outbound.ts";
import type { Timers } from "../lib/timers.ts";
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
  /** Throws `ExecutionAborted` if another worker has claimed the run. */
  perform<Result>(effect: () => Promise<Result>): Promise<Result>;
  /** Checks the lease again when the connection is open, since that may take long. */
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
      } catch {
        await new Promise<void>((resolve) => timers.after(RETRY_MS, resolve));
      }
    }
  };
  const hold = async (): Promise<void> => {
    if (await holds()) return;
    onLost();
    throw new ExecutionAborted();
  };
  return {
    async perform(effect) {
      if (!lease.isFresh()) await hold();
      return effect();
    },
    guard: (fetch) => async (request) => {
      for (;;) {
        if (!lease.isFresh()) await hold();
        let isStale = false;
        const beforeSend = () => {
          isStale = !lease.isFresh();
          if (isStale) throw new ExecutionAborted();
        };
        try {
          return await fetch({ ...request, beforeSend });
        } catch (error) {
          if (!isStale) throw error; // otherwise nothing was sent
        }
      }
    },
  };
}
