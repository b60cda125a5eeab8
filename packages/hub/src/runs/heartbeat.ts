/** Renews the leases of the runs that this process executes. Without such runs it sets no timer. */
import type { Timers } from "../lib/timers.ts";
import type { Store } from "../store/store.ts";

export interface HeartbeatOptions {
  store: Pick<Store, "renewRuns">;
  worker: string;
  leaseMs: number;
  timers: Pick<Timers, "now" | "after">;
  /** The runs whose leases are renewed. Other runs of this worker are claimed again when theirs expire. */
  executing(): readonly string[];
  /** Called when a cancellation of the run was requested. */
  cancel(run: string): void;
  onError(error: unknown): void;
}

export interface Heartbeat {
  /** Called when a run begins to execute. */
  start(): void;
  stop(): void;
}

export function createHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { store, worker, leaseMs, timers, executing, cancel, onError } = options;
  let cancelTimer: (() => void) | undefined;

  const start = (): void => {
    cancelTimer ??= timers.after(leaseMs / 3, () => {
      cancelTimer = undefined;
      const runs = executing();
      if (runs.length === 0) return;
      start();
      void renew(runs);
    });
  };
  const renew = async (runs: readonly string[]): Promise<void> => {
    try {
      const now = timers.now();
      const renewed = await store.renewRuns({ worker, now, until: now + leaseMs }, runs);
      for (const run of renewed.cancel) cancel(run);
    } catch (error) {
      onError(error);
    }
  };

  return {
    start,
    stop() {
      cancelTimer?.();
      cancelTimer = undefined;
    },
  };
}
