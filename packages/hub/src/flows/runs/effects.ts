/** Checks the lease of a run right before each of its effects. */
import type { Timers } from "../../kernel/lib/timers.ts";
import { awaitStorage } from "./await-storage.ts";
import { ExecutionAborted } from "./step-records.ts";

export interface EffectsOptions {
  lease: { isFresh(): boolean; ensureFresh(): Promise<boolean> };
  timers: Pick<Timers, "after">;
  /** Aborted when this process no longer executes the run. */
  signal: AbortSignal;
  /** Called when another worker has claimed the run. */
  onLost(): void;
}

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
