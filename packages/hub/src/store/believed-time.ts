/**
 * The time that retention uses. If the wall clock jumps forward, it may be wrong, and data that is
 * removed because of it cannot be restored. Therefore the believed time ignores the jump for a grace
 * period, and advances with the monotonic clock instead. If the wall clock is set back, it is believed
 * immediately, because then less data is removed.
 */
import { type Instant, instant } from "../lib/elapsed.ts";
import type { Timers } from "../lib/timers.ts";

export interface BelievedTimeOptions {
  timers: Pick<Timers, "now" | "monotonic">;
  /** When a hub on this database last removed data; undefined if none has. */
  lastSeen: number | undefined;
  /** Called once per jump. `aheadMs`: by how much the wall clock is ahead. */
  onJump(aheadMs: number): void;
  /** While this process runs, a jump of at most this length is believed immediately. */
  toleranceMs?: number;
  /** At the start, a `lastSeen` that is longer ago than this counts as a jump. */
  maxStoppedMs?: number;
  /** The grace period: after this time, a wall clock that is still ahead is believed. */
  graceMs?: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export function createBelievedTime(options: BelievedTimeOptions): () => number {
  const { timers, onJump, toleranceMs = DAY_MS, maxStoppedMs = 30 * DAY_MS } = options;
  const { graceMs = HOUR_MS } = options;
  const start = instant(timers);
  const { lastSeen = start.now } = options;
  let last: Instant = start.now - lastSeen > maxStoppedMs ? { ...start, now: lastSeen } : start;
  /** When the jump was noticed, by the monotonic clock. */
  let jumpedAt: number | undefined;

  return () => {
    const current = instant(timers);
    const expected = last.now + current.monotonic - last.monotonic;
    const aheadMs = current.now - expected;
    if (aheadMs > toleranceMs && jumpedAt === undefined) {
      jumpedAt = current.monotonic;
      onJump(aheadMs);
    }
    const isInGracePeriod =
      aheadMs > toleranceMs && jumpedAt !== undefined && current.monotonic - jumpedAt < graceMs;
    if (isInGracePeriod) return expected;
    jumpedAt = undefined;
    last = current;
    return current.now;
  };
}
