/** The time between two measurements, at least. An evaluation that ends sooner does without any. */
const MEASUREMENT_MS = 100;
/** A worker that gets too little CPU time is terminated after this many times its limit. */
const MAX_EXTENSION = 10;

export interface DeadlineOptions {
  limitMs: number;
  /** Calls `work` after `ms`; returns a function that cancels it. */
  after(ms: number, work: () => void): () => void;
  /** The CPU time of the worker since its start, or undefined if the host cannot measure it. */
  cpuMs(): number | undefined;
  onExpire(): void;
}

/**
 * Starts the deadline of one evaluation; returns a function that cancels it. The limit counts the
 * worker's CPU time, so a program does not fail because other processes keep the machine busy.
 */
export function startDeadline({ limitMs, after, cpuMs, onExpire }: DeadlineOptions): () => void {
  let cancel = () => {};
  const wait = (ms: number, work: () => void) => {
    cancel = after(ms, work);
  };
  // If the event loop was blocked, the result may have arrived but is not yet read.
  const expire = () => wait(0, onExpire);
  const firstMs = Math.min(MEASUREMENT_MS, limitMs);
  wait(firstMs, () => {
    const startMs = cpuMs();
    const waitAndCheck = (ms: number, passedMs: number) =>
      wait(ms, () => {
        const nowMs = cpuMs();
        const usedMs =
          startMs === undefined || nowMs === undefined ? limitMs : firstMs + nowMs - startMs;
        const sumMs = passedMs + ms;
        if (usedMs >= limitMs || sumMs >= MAX_EXTENSION * limitMs) expire();
        else waitAndCheck(Math.max(MEASUREMENT_MS, limitMs - usedMs), sumMs);
      });
    waitAndCheck(limitMs - firstMs, firstMs);
  });
  return () => cancel();
}
