import type { Timers } from "./timers.ts";

type Clocks = Pick<Timers, "now" | "monotonic">;

/** A point in time by both clocks of this process. */
export interface Instant {
  now: number;
  monotonic: number;
}

export const instant = ({ now, monotonic }: Clocks): Instant => ({
  now: now(),
  monotonic: monotonic(),
});

/**
 * The time since then, by the clock that has advanced more: the monotonic clock may stop while the
 * machine is suspended, and the wall clock can be set back.
 */
export const elapsedSince = (clocks: Clocks, { now, monotonic }: Instant): number =>
  Math.max(clocks.now() - now, clocks.monotonic() - monotonic);
