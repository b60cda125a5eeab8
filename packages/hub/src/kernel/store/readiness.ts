/**
 * Checks for `/readyz` whether events can be stored. Probes may call it often, so the result is cached:
 * it costs at most one small write per second. This small write can succeed while batches of events
 * fail. So the hub is also not ready after a failed batch, until a batch succeeds or `failureForMs` has
 * passed.
 */
import type { Timers } from "../lib/timers.ts";
import { withTimeout } from "../lib/with-timeout.ts";

export interface ReadinessOptions {
  /** Rejects if the database cannot be written to. */
  check: () => Promise<void>;
  timers: Pick<Timers, "monotonic" | "after">;
  /** Called for every check that fails. */
  onError?: (error: unknown) => void;
  cacheMs?: number;
  failureForMs?: number;
  timeoutMs?: number;
}

export function createReadiness({
  check,
  timers,
  onError = () => {},
  cacheMs = 1_000,
  failureForMs = 5_000,
  timeoutMs = 5_000,
}: ReadinessOptions) {
  const now = timers.monotonic;
  let failure: { error: unknown; at: number } | undefined;
  let cached: { result: Promise<void>; until: number } | undefined;

  const checkOnce = async () => {
    const message = `the database did not respond within ${timeoutMs / 1000} s`;
    try {
      await withTimeout(timers, timeoutMs, check(), message);
    } catch (error) {
      onError(error);
      throw error;
    } finally {
      if (cached) cached.until = now() + cacheMs;
    }
  };

  return {
    async check(): Promise<void> {
      if (failure && now() - failure.at < failureForMs) throw failure.error;
      if (!cached || cached.until <= now()) {
        cached = { result: Promise.resolve(), until: Number.POSITIVE_INFINITY };
        cached.result = checkOnce();
      }
      await cached.result;
    },
    batchStored(): void {
      failure = undefined;
    },
    batchFailed(error: unknown): void {
      failure = { error, at: now() };
    },
  };
}
