import { type Rejection, rejection } from "./ingest-outcome.ts";

/**
 * Limits the bytes of all request bodies that are being read, so that many large bodies cannot
 * exhaust the memory. The limit of a single body is its source's `maxBytes`.
 */
export interface BodyBudget {
  /** Reserves bytes that have arrived. Returns a rejection if they exceed the budget. */
  reserve(bytes: number): Rejection | undefined;
  release(bytes: number): void;
}

export function createBodyBudget(maxBytes: number): BodyBudget {
  let reserved = 0;
  return {
    reserve(bytes) {
      if (reserved + bytes > maxBytes)
        return rejection(
          "busy",
          "The hub is reading too many large bodies; send the event again.",
          {
            retryAfter: 1,
          },
        );
      reserved += bytes;
      return undefined;
    },
    release(bytes) {
      reserved -= bytes;
    },
  };
}
