import { LARGE_BYTES } from "../lib/limits.ts";
import { type Rejection, rejection } from "./ingest-outcome.ts";

/**
 * Limits the bytes of all request bodies in memory, from their arrival until they were processed, so that
 * many large bodies cannot exhaust the memory. The limit of a single body is its source's `maxBytes`.
 */
export interface BodyBudget {
  /**
   * Reserves bytes that have arrived; `held` are those that the same body has reserved before. Returns
   * a rejection if they exceed the budget.
   */
  reserve(bytes: number, held: number): Rejection | undefined;
  release(bytes: number): void;
}

/** An eighth of the budget is kept for small bodies, so that stalled large ones do not block them. */
const SHARE_OF_LARGE = 7 / 8;

export function createBodyBudget(maxBytes: number): BodyBudget {
  let reserved = 0;
  return {
    reserve(bytes, held) {
      const isSmall = held + bytes <= LARGE_BYTES;
      if (reserved + bytes > (isSmall ? maxBytes : maxBytes * SHARE_OF_LARGE))
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
