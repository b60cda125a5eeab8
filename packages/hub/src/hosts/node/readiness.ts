import { within } from "./within.ts";

/**
 * Can events be stored? Asked often, answered from memory: a probe costs one small write a second at
 * the most. A small write may pass where events no longer fit, so a batch that failed counts as well,
 * until another one passes or some seconds are over.
 */
export interface ReadinessOptions {
  /** Rejects where the database cannot be written to. */
  check: () => Promise<void>;
  now: () => number;
  /** Told of every check that failed. */
  onError?: (error: unknown) => void;
  answerForMs?: number;
  failureForMs?: number;
  timeoutMs?: number;
}

export function createReadiness({
  check,
  now,
  onError = () => {},
  answerForMs = 1_000,
  failureForMs = 5_000,
  timeoutMs = 5_000,
}: ReadinessOptions) {
  let failure: { error: unknown; at: number } | undefined;
  let answer: { is: Promise<void>; until: number } | undefined;

  const ask = async () => {
    try {
      await within(timeoutMs, check(), `it did not answer within ${timeoutMs / 1000} s`);
    } catch (error) {
      onError(error);
      throw error;
    } finally {
      if (answer) answer.until = now() + answerForMs;
    }
  };

  return {
    async check(): Promise<void> {
      if (failure && now() - failure.at < failureForMs) throw failure.error;
      if (!answer || answer.until <= now()) {
        answer = { is: Promise.resolve(), until: Number.POSITIVE_INFINITY };
        answer.is = ask();
      }
      await answer.is;
    },
    /** A batch of events was stored. */
    worked(): void {
      failure = undefined;
    },
    /** A batch of events could not be stored. */
    failed(error: unknown): void {
      failure = { error, at: now() };
    },
  };
}
