/** The clock and the timers of a host, injected so that tests can drive time. */
export interface Timers {
  /** Milliseconds since 1970. */
  now(): number;
  /**
   * Milliseconds since an arbitrary time. It does not change when the clock of the machine is set, so
   * it measures durations within a process. It may stop while the machine is suspended.
   */
  monotonic(): number;
  /**
   * How often a loop looks for work of which it got no notice; by default 30 s. Infinite if no notice
   * can be lost, since no other process uses the store.
   */
  pollMs?: number;
  /** Runs `work` after the I/O that is pending now, for example with `setImmediate`. */
  defer(work: () => void): void;
  /** Runs `work` once after `ms`; returns a function that cancels it. */
  after(ms: number, work: () => void): () => void;
}
