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
  /** Renews the leases now if they may have expired, for example after an outage of the store. */
  renewExpired(): Promise<void>;
  stop(): void;
}

export function createHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { leaseMs, timers, held, renew, onError } = options;
  let cancelTimer: (() => void) | undefined;
  /** When the oldest of the leases was renewed. */
  let renewedAt = Number.POSITIVE_INFINITY;

  const renewHeld = async (ids: readonly string[]): Promise<void> => {
    const now = timers.now();
    await renew(ids, { now, until: now + leaseMs });
    renewedAt = now;
  };
  const setTimer = (): void => {
    cancelTimer = timers.after(leaseMs / 3, () => {
      cancelTimer = undefined;
      const ids = held();
      if (ids.length === 0) return;
      setTimer();
      renewHeld(ids).catch(onError);
    });
  };

  return {
    start() {
      if (cancelTimer) return;
      renewedAt = timers.now();
      setTimer();
    },
    async renewExpired() {
      const ids = timers.now() - renewedAt < leaseMs ? [] : held();
      if (ids.length > 0) await renewHeld(ids);
    },
    stop() {
      cancelTimer?.();
      cancelTimer = undefined;
    },
  };
}
