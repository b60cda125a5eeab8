/**
 * Deletes the data of tenants in the background, in paced steps. If the process ends before a
 * deletion is complete, the sweeper of the next process continues it.
 */
import type { Timers } from "../kernel/lib/timers.ts";
import { createPacedSteps } from "../kernel/store/paced-steps.ts";
import type { Store } from "../store.ts";

export interface TenantDeletionsOptions {
  store: Pick<Store, "startDeletion" | "continueDeletion">;
  timers: Pick<Timers, "now" | "monotonic" | "defer" | "after">;
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
  const { store, timers, isStopped, onError } = options;
  const running = new Set<Promise<void>>();

  const run = async (tenant: string) => {
    try {
      const steps = createPacedSteps({ timers, isStopped });
      await steps.repeat(async (rows) => !(await store.continueDeletion(tenant, rows)));
    } catch (error) {
      if (!isStopped()) onError(error);
    }
  };

  return {
    async start(tenant) {
      if (!(await store.startDeletion(tenant, timers.now()))) return false;
      const deletion = run(tenant).finally(() => running.delete(deletion));
      running.add(deletion);
      return true;
    },
    async idle() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
