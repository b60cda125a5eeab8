/** Renews the leases that this process holds. Without leases it sets no timer. */
import { elapsedSince, type Instant, instant } from "./elapsed.ts";
import type { Timers } from "./timers.ts";

export interface HeartbeatOptions {
  leaseMs: number;
  timers: Pick<Timers, "now" | "monotonic" | "after">;
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
  let renewedAt: Instant | undefined;

  const renewHeld = async (ids: readonly string[]): Promise<void> => {
    const at = instant(timers);
    await renew(ids, { now: at.now, until: at.now + leaseMs });
    renewedAt = at;
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
      renewedAt = instant(timers);
      setTimer();
    },
    async renewExpired() {
      if (!renewedAt || elapsedSince(timers, renewedAt) < leaseMs) return;
      const ids = held();
      if (ids.length > 0) await renewHeld(ids);
    },
    stop() {
      cancelTimer?.();
      cancelTimer = undefined;
    },
  };
}
