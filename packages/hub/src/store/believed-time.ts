/**
 * The time by which data is removed. If the wall clock jumps forward, it may be wrong, and what it
 * removes cannot be restored. Then the believed time continues from the last one by the monotonic
 * clock, until the wall clock has been ahead for a while. A clock that is set back is believed
 * immediately, because it removes less.
 */
import { type Instant, instant } from "../lib/elapsed.ts";
import type { Timers } from "../lib/timers.ts";

export interface BelievedTimeOptions {
  timers: Pick<Timers, "now" | "monotonic">;
  /** When a hub on this database last removed data; undefined if none has. */
  lastSeen: number | undefined;
  /** Called once per jump; `aheadMs`: how far the wall clock is ahead. */
  onJump(aheadMs: number): void;
  /** While this process runs, the wall clock may jump forward by this time. */
  toleranceMs?: number;
  /** For this time, no hub may have run before this process. */
  maxStoppedMs?: number;
  /** After this time, a wall clock that is still ahead is believed. */
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
    const seen = instant(timers);
    const expected = last.now + seen.monotonic - last.monotonic;
    const aheadMs = seen.now - expected;
    if (aheadMs > toleranceMs && jumpedAt === undefined) {
      jumpedAt = seen.monotonic;
      onJump(aheadMs);
    }
    const isDoubtful =
      aheadMs > toleranceMs && jumpedAt !== undefined && seen.monotonic - jumpedAt < graceMs;
    if (isDoubtful) return expected;
    jumpedAt = undefined;
    last = seen;
    return seen.now;
  };
}
