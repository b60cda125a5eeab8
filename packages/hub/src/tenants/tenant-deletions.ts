/**
 * Deletes the data of tenants in the background, in small transactions. If the process ends before a
 * deletion is complete, the sweeper of the next process continues it.
 */
import type { Store } from "../store/store.ts";

const BATCH_SIZE = 500;

export interface TenantDeletionsOptions {
  store: Pick<Store, "startDeletion" | "continueDeletion">;
  now: () => number;
  yieldToEventLoop: () => Promise<void>;
  isStopped: () => boolean;
  onError: (error: unknown) => void;
}

export interface TenantDeletions {
  /** Resolves when the tenant no longer receives events; to false if the tenant does not exist. */
  start(tenant: string): Promise<boolean>;
  /** Resolves when no deletion runs. */
  idle(): Promise<void>;
}

export function createTenantDeletions(options: TenantDeletionsOptions): TenantDeletions {
  const { store, now, yieldToEventLoop, isStopped, onError } = options;
  const running = new Set<Promise<void>>();

  const run = async (tenant: string) => {
    try {
      while (!isStopped() && !(await store.continueDeletion(tenant, BATCH_SIZE)))
        await yieldToEventLoop();
    } catch (error) {
      if (!isStopped()) onError(error);
    }
  };

  return {
    async start(tenant) {
      if (!(await store.startDeletion(tenant, now()))) return false;
      const deletion = run(tenant).finally(() => running.delete(deletion));
      running.add(deletion);
      return true;
    },
    async idle() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
