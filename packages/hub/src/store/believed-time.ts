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
  /** The wall clock may be ahead by this time, for example because the hub was stopped. */
  toleranceMs?: number;
  /** After this time, a wall clock that is still ahead is believed. */
  graceMs?: number;
}

const HOUR_MS = 3_600_000;

export function createBelievedTime(options: BelievedTimeOptions): () => number {
  const { timers, lastSeen, onJump, toleranceMs = 24 * HOUR_MS, graceMs = HOUR_MS } = options;
  let last: Instant = { ...instant(timers), ...(lastSeen !== undefined && { now: lastSeen }) };
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
