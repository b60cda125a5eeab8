/** Provides promises that resolve when a run has ended, in this process or in another. */
import type { Timers } from "../../kernel/lib/timers.ts";
import type { Store } from "../../store.ts";
import { awaitStorage } from "./await-storage.ts";
import { type Run, TERMINAL_STATUSES } from "./model.ts";

export interface WaitersOptions {
  store: Pick<Store, "getRun" | "cancelRun">;
  timers: Pick<Timers, "now" | "after">;
  onError(error: unknown): void;
}

export interface Waiters {
  /** Resolves with the run when it has ended. Rejects if the run was deleted, and on `reject` or `close`. */
  untilEnded(tenant: string, run: string, options: WaitOptions): Promise<Run>;
  /** Reads the run again, and resolves its waiters if it has ended. */
  check(run: string): void;
  checkAll(): void;
  /** Rejects the waiters of the run. */
  reject(run: string, error: Error): void;
  /** Rejects every waiter. */
  close(reason: string): void;
}

interface WaitOptions {
  /** True if this process has just claimed the run. Such a run has not ended, so it is not read. */
  justClaimed: boolean;
  /** Resolves when the run is stored. Before that, it cannot be cancelled. */
  stored: Promise<void>;
  /** Cancels the run when it is aborted. */
  signal?: AbortSignal | undefined;
}

interface Waiter {
  check(): void;
  reject(error: Error): void;
}

export function createWaiters({ store, timers, onError }: WaitersOptions): Waiters {
  const waiting = new Map<string, Set<Waiter>>();
  let closed = false;
  const check = (run: string): void => {
    for (const waiter of waiting.get(run) ?? []) waiter.check();
  };

  return {
    untilEnded(tenant, id, { justClaimed, stored, signal }) {
      const { promise, resolve, reject } = Promise.withResolvers<Run>();
      promise.catch(() => {}); // no unhandled rejection if the caller does not await it
      const isWaiting = () => !closed && waiters.has(waiter);
      const cancel = () => {
        const cancelRun = () => store.cancelRun(tenant, id, timers.now());
        if (closed) return;
        void stored.then(() => awaitStorage(timers, isWaiting, cancelRun)).catch(onError);
      };
      const waiters = waiting.get(id) ?? new Set();
      waiting.set(id, waiters);
      const removeWaiter = () => {
        signal?.removeEventListener("abort", cancel);
        if (waiters.delete(waiter) && waiters.size === 0) waiting.delete(id);
      };
      const checkRun = async () => {
        try {
          const run = await awaitStorage(timers, isWaiting, () => store.getRun(tenant, id));
          if (run && !TERMINAL_STATUSES.includes(run.status)) return;
          removeWaiter();
          if (run) resolve(run);
          else reject(new Error("The run no longer exists."));
        } catch (error) {
          onError(error);
        }
      };
      const waiter: Waiter = {
        check: () => void checkRun(),
        reject(error) {
          removeWaiter();
          reject(error);
        },
      };
      waiters.add(waiter);
      signal?.addEventListener("abort", cancel, { once: true });
      if (signal?.aborted) cancel();
      if (!justClaimed) waiter.check();
      return promise;
    },
    check,
    checkAll() {
      for (const run of waiting.keys()) check(run);
    },
    reject(run, error) {
      for (const waiter of waiting.get(run) ?? []) waiter.reject(error);
    },
    close(reason) {
      closed = true;
      for (const waiters of waiting.values())
        for (const waiter of waiters) waiter.reject(new Error(reason));
    },
  };
}
