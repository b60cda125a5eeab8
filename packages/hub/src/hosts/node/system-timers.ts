import type { Timers } from "../../lib/timers.ts";

/** `setImmediate` for `defer`: I/O that is ready is handled first, so a batch collects more of it. */
export const systemTimers: Timers = {
  now: Date.now,
  defer: (work) => void setImmediate(work),
  after(ms, work) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};
