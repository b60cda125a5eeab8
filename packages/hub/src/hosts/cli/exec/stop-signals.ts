/**
 * How `signalbox exec` stops. The first SIGINT, SIGTERM or SIGHUP, or a fatal error, starts no further
 * command; the second signal terminates the running commands; the third ends the process.
 */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export interface StopSignals {
  stopping: AbortSignal;
  terminating: AbortSignal;
  /** Whether the error is the abort of an operation by a stop. */
  isAbort(error: unknown): boolean;
  /** Stops because of an error; `throwError` throws the first one. */
  fail(error: unknown): void;
  throwError(): void;
  dispose(): void;
}

export function createStopSignals(onStop: () => void): StopSignals {
  const stopping = new AbortController();
  const terminating = new AbortController();
  const errors: unknown[] = [];
  const onSignal = () => {
    if (terminating.signal.aborted) process.exit(1);
    if (stopping.signal.aborted) return terminating.abort();
    stopping.abort();
    onStop();
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  const isAbort = (error: unknown): boolean =>
    stopping.signal.aborted && (error as Error | undefined)?.name === "AbortError";
  return {
    stopping: stopping.signal,
    terminating: terminating.signal,
    isAbort,
    fail(error) {
      if (!isAbort(error)) errors.push(error);
      stopping.abort();
    },
    throwError() {
      if (errors.length > 0) throw errors[0];
    },
    dispose() {
      for (const name of SIGNALS) process.off(name, onSignal);
    },
  };
}
