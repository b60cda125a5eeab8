/** The clock and the timers of a host, injected so that tests can drive time. */
export interface Timers {
  /** Milliseconds since 1970. */
  now(): number;
  /**
   * Milliseconds since an arbitrary time. Setting the machine's clock does not change them, so they
   * measure durations within a process. They may stop while the machine is suspended.
   */
  monotonic(): number;
  /**
   * The widest gap in the observation of the wall clock that retention counts as elapsed time; by default
   * a day.
   */
  maxClockGapMs?: number;
  /**
   * The interval at which a loop looks for work whose notice was lost; by default 30 s. It is infinite
   * if no other process uses the store, because then no notice can be lost.
   */
  pollMs?: number;
  /** Runs `work` after the I/O that is pending now, for example with `setImmediate`. */
  defer(work: () => void): void;
  /** Runs `work` once after `ms`; returns a function that cancels it. */
  after(ms: number, work: () => void): () => void;
}

/**
 * Returns timers that report their due times to a host that evicts idle hubs. An eviction loses the timers,
 * but the restarted hub looks up which work is due.
 */
export const reportDue = (timers: Timers, wakeAt: (time: number) => void): Timers => ({
  ...timers,
  after(ms, work) {
    wakeAt(timers.now() + ms);
    return timers.after(ms, work);
  },
});

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

/** Returns the result of `work`, or rejects with `message` after `ms`. It does not cancel the work. */
export async function withTimeout<Result>(
  { after }: Pick<Timers, "after">,
  ms: number,
  work: Promise<Result>,
  message: string,
): Promise<Result> {
  let cancel = () => {};
  const timeout = new Promise<never>((_, reject) => {
    cancel = after(ms, () => reject(new Error(message)));
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    cancel();
  }
}
