/** Renews the leases that this process holds. Without leases it sets no timer. */
import type { Timers } from "./timers.ts";

export interface HeartbeatOptions {
  leaseMs: number;
  timers: Pick<Timers, "now" | "after">;
  /** What this process works on. Its other leases expire. */
  held(): readonly string[];
  renew(held: readonly string[], lease: { now: number; until: number }): Promise<void>;
  onError(error: unknown): void;
}

export interface Heartbeat {
  /** Called when this process begins to work on a leased item. */
  start(): void;
  stop(): void;
}

export function createHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { leaseMs, timers, held, renew, onError } = options;
  let cancelTimer: (() => void) | undefined;

  const start = (): void => {
    cancelTimer ??= timers.after(leaseMs / 3, () => {
      cancelTimer = undefined;
      const ids = held();
      if (ids.length === 0) return;
      start();
      const now = timers.now();
      renew(ids, { now, until: now + leaseMs }).catch(onError);
    });
  };

  return {
    start,
    stop() {
      cancelTimer?.();
      cancelTimer = undefined;
    },
  };
}
