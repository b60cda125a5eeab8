import type { Timers } from "../../kernel/lib/timers.ts";

/** Ends an attempt at a node after its timeout, or together with its run. */
export interface TimeLimit {
  /** Aborted when the attempt must end. */
  signal: AbortSignal;
  /**
   * Rejects when the attempt must end, even if the node ignores `signal`. It rejects before `signal`
   * is aborted, so that the attempt fails with the reason, not with an error of the aborted work.
   */
  reached: Promise<never>;
  /** Stops the clock while the attempt is queued. The returned function restarts it from zero. */
  stopClock(): () => void;
  close(): void;
}

class TimedOut extends Error {
  readonly code = "timeout";
  constructor(timeoutMs: number) {
    super(
      `The step exceeds the time limit of ${timeoutMs} ms. Raise timeoutMs in the settings of its node.`,
    );
  }
}

export function createTimeLimit(
  timers: Pick<Timers, "after">,
  timeoutMs: number | undefined,
  runSignal: AbortSignal,
): TimeLimit {
  const controller = new AbortController();
  const reached = Promise.withResolvers<never>();
  reached.promise.catch(() => {}); // no unhandled rejection after the attempt has ended
  const end = (reason: Error) => {
    reached.reject(reason);
    controller.abort(reason);
  };
  const onAbort = () => end(new Error("The run has ended."));
  runSignal.addEventListener("abort", onAbort, { once: true });
  if (runSignal.aborted) onAbort();

  let closed = false;
  let cancelTimer = () => {};
  const startClock = () => {
    cancelTimer();
    if (timeoutMs === undefined || closed) return;
    cancelTimer = timers.after(timeoutMs, () => end(new TimedOut(timeoutMs)));
  };
  startClock();

  return {
    signal: controller.signal,
    reached: reached.promise,
    stopClock() {
      cancelTimer();
      return startClock;
    },
    close() {
      closed = true;
      cancelTimer();
      runSignal.removeEventListener("abort", onAbort);
    },
  };
}
