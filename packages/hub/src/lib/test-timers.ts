import type { Timers } from "./timers.ts";

export interface TestTimers extends Timers {
  /** Moves the clock forward and runs the timers that become due, in order of time. */
  advance(ms: number): void;
  /** The number of timers that have neither run nor been cancelled. */
  pending(): number;
}

/** Timers whose clock only moves when a test calls `advance`. `defer` is a timer of 0 ms. */
export function createTestTimers(start = 0): TestTimers {
  const timers = new Set<{ at: number; work: () => void }>();
  let time = start;

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
    now: () => time,
    defer: (work) => void after(0, work),
    after,
    pending: () => timers.size,
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
