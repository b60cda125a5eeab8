import type { Timers } from "./timers.ts";

type Clocks = Pick<Timers, "now" | "monotonic">;

/** A point in time, in milliseconds of the wall clock (`now`) and of the monotonic clock. */
export interface Instant {
  now: number;
  monotonic: number;
}

export const instant = ({ now, monotonic }: Clocks): Instant => ({
  now: now(),
  monotonic: monotonic(),
});

/**
 * Returns the milliseconds since an instant, by the clock that has advanced more: the monotonic clock
 * may stop while the machine is suspended, and the wall clock can be set back.
 */
export const elapsedSince = (clocks: Clocks, { now, monotonic }: Instant): number =>
  Math.max(clocks.now() - now, clocks.monotonic() - monotonic);
