/** The minimum time between two measurements of CPU time. A shorter job is not measured. */
const MEASUREMENT_MS = 100;
/** A worker that gets little CPU time expires after its limit multiplied by this factor. */
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
 * Starts the deadline of a job or a batch; returns a function that cancels it. The limit counts the
 * worker's CPU time, so a job does not fail because other processes keep the machine busy.
 */
export function startDeadline({ limitMs, after, cpuMs, onExpire }: DeadlineOptions): () => void {
  let cancel = () => {};
  const schedule = (ms: number, work: () => void) => {
    cancel = after(ms, work);
  };
  // Deferred: while the event loop was blocked, a result may have arrived that is not read yet.
  const expire = () => schedule(0, onExpire);
  // The first period is not measured. It counts as CPU time.
  const firstMs = Math.min(MEASUREMENT_MS, limitMs);
  schedule(firstMs, () => {
    const startMs = cpuMs();
    const scheduleCheck = (ms: number, elapsedBeforeMs: number) =>
      schedule(ms, () => {
        const nowMs = cpuMs();
        const usedMs =
          startMs === undefined || nowMs === undefined ? limitMs : firstMs + nowMs - startMs;
        const elapsedMs = elapsedBeforeMs + ms;
        if (usedMs >= limitMs || elapsedMs >= MAX_EXTENSION * limitMs) expire();
        else scheduleCheck(Math.max(MEASUREMENT_MS, limitMs - usedMs), elapsedMs);
      });
    scheduleCheck(limitMs - firstMs, firstMs);
  });
  return () => cancel();
}
