import type { Timers } from "./timers.ts";

export interface TestTimers extends Timers {
  /** Moves the clock forward and runs the timers that become due, in order of time. */
  advance(ms: number): void;
  /** Sets the wall clock forward or back, as an administrator or NTP does. No timer becomes due. */
  stepClock(ms: number): void;
  /** The number of timers that have neither run nor been cancelled. */
  pending(): number;
}

/** Timers that run only when a test calls `advance`. `defer` is a timer of 0 ms. */
export function createTestTimers(start = 0): TestTimers {
  const timers = new Set<{ at: number; work: () => void }>();
  let time = start;
  let offset = 0;

  const after = (ms: number, work: () => void) => {
    const timer = { at: time + ms, work };
    timers.add(timer);
    return () => void timers.delete(timer);
  };
  const nextDue = (until: number) => {
    const [next] = [...timers].sort((a, b) => a.at - b.at); // stable: equal times keep their order
    return next && next.at <= until ? next : undefined;
  };

  return {
    now: () => time + offset,
    monotonic: () => time,
    defer: (work) => void after(0, work),
    after,
    pending: () => timers.size,
    stepClock(ms) {
      offset += ms;
    },
    advance(ms) {
      const end = time + ms;
      for (let next = nextDue(end); next; next = nextDue(end)) {
        time = Math.max(time, next.at);
        timers.delete(next);
        next.work();
      }
      time = end;
    },
  };
}
