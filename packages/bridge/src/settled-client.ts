/** Tracks the client's lists, and reports when the client is settled: see `settlesAt`. */
import { type ListMethod, settlesAt } from "./settles-at.ts";

export interface Timers {
  now(): number;
  /** Returns the function that cancels the timer. */
  set(run: () => void, ms: number): () => void;
}

const systemTimers: Timers = {
  now: Date.now,
  set(run, ms) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

export interface SettledClient {
  /** Call it when the client sends `initialized`. */
  initialized(): void;
  /** Tracks the response to a list request; returns the same result or error. */
  track<Result extends { nextCursor?: string | undefined }>(
    method: ListMethod,
    response: Promise<Result>,
  ): Promise<Result>;
  /** Rejects if the signal aborts first. */
  settled: Promise<void>;
}

export function createSettledClient(
  signal: AbortSignal,
  timers: Timers = systemTimers,
): SettledClient {
  let resolve = () => {};
  let reject = (_reason: unknown) => {};
  // Node 18 and 20 do not have `Promise.withResolvers`.
  const settled = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  settled.catch(() => {}); // no notification may be waiting
  const complete = new Set<ListMethod>();
  let initializedAt: number | undefined;
  let inFlight = 0;
  let lastResponseAt = Number.NEGATIVE_INFINITY;
  let cancelTimer = () => {};
  let isSettled = false;

  function schedule(): void {
    cancelTimer();
    if (initializedAt === undefined || isSettled || signal.aborted) return;
    const at = settlesAt({ initializedAt, inFlight, complete, lastResponseAt });
    cancelTimer = timers.set(settle, Math.max(0, at - timers.now()));
  }

  function settle(): void {
    isSettled = true;
    resolve();
  }

  signal.addEventListener("abort", () => {
    cancelTimer();
    reject(signal.reason);
  });

  return {
    settled,

    initialized() {
      initializedAt ??= timers.now();
      schedule();
    },

    async track(method, response) {
      inFlight += 1;
      schedule();
      try {
        const result = await response;
        if (result.nextCursor === undefined) complete.add(method);
        return result;
      } finally {
        inFlight -= 1;
        lastResponseAt = timers.now();
        schedule();
      }
    },
  };
}
