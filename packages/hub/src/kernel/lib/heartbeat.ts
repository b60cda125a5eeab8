/** A heartbeat renews the leases that this process holds. Without leases it sets no timer. */
import { elapsedSince, type Instant, instant, type Timers } from "./timers.ts";

export interface HeartbeatOptions {
  leaseMs: number;
  timers: Pick<Timers, "now" | "monotonic" | "after">;
  /** Returns the ids of the items that this process works on. Leases of other items expire. */
  heldIds(): readonly string[];
  renew(ids: readonly string[], lease: { now: number; until: number }): Promise<void>;
  onError(error: unknown): void;
}

export interface Heartbeat {
  /** Starts the timer unless it runs. Call it when this process begins to work on a leased item. */
  start(): void;
  /** Renews the leases now if they may have expired, for example after an outage of the store. */
  renewExpired(): Promise<void>;
  stop(): void;
}

export function createHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { leaseMs, timers, heldIds, renew, onError } = options;
  let cancelTimer: (() => void) | undefined;
  /** Every lease that is held was acquired or renewed at this time or later. */
  let renewedAt: Instant | undefined;

  const renewHeld = async (ids: readonly string[]): Promise<void> => {
    const at = instant(timers);
    await renew(ids, { now: at.now, until: at.now + leaseMs });
    renewedAt = at;
  };
  const setTimer = (): void => {
    cancelTimer = timers.after(leaseMs / 3, () => {
      cancelTimer = undefined;
      const ids = heldIds();
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
      const ids = heldIds();
      if (ids.length > 0) await renewHeld(ids);
    },
    stop() {
      cancelTimer?.();
      cancelTimer = undefined;
    },
  };
}
