/**
 * Stops `signalbox exec` in three stages. After the first SIGINT, SIGTERM or SIGHUP, or after a fatal error,
 * no further command starts. The next signal terminates the running commands. The one after that ends the
 * process.
 */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export interface StopSignals {
  stopping: AbortSignal;
  terminating: AbortSignal;
  /** Whether the error is an AbortError after a stop. */
  isAbort(error: unknown): boolean;
  /** Stops because of an error. */
  fail(error: unknown): void;
  /** Throws the first error that was passed to `fail`, if there is one. */
  throwFirstError(): void;
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
    throwFirstError() {
      if (errors.length > 0) throw errors[0];
    },
    dispose() {
      for (const name of SIGNALS) process.off(name, onSignal);
    },
  };
}
