import type { Timers } from "../../kernel/lib/timers.ts";

/** `defer` is `setImmediate`: pending I/O is handled first, so a group commit contains more requests. */
export const systemTimers: Timers = {
  now: Date.now,
  monotonic: () => performance.now(),
  defer: (work) => void setImmediate(work),
  after(ms, work) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};
