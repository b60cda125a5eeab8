import { LARGE_BYTES } from "../lib/limits.ts";
import { type Rejection, rejection } from "./ingest-outcome.ts";

/**
 * Limits the bytes of all request bodies in memory, from their arrival until they are processed, so that
 * many large bodies cannot exhaust the memory. The limit of a single body is its source's `maxBytes`.
 */
export interface BodyBudget {
  /**
   * Reserves bytes that have arrived. `bodyBytes` is the number of bytes that the same body has already
   * reserved. Returns a rejection, and reserves nothing, if the bytes would exceed the budget.
   */
  reserve(bytes: number, bodyBytes: number): Rejection | undefined;
  release(bytes: number): void;
}

/**
 * Large bodies can use only this share of the budget, so that stalled ones do not block small
 * bodies.
 */
const LARGE_BODY_SHARE = 7 / 8;

export function createBodyBudget(maxBytes: number): BodyBudget {
  let reserved = 0;
  return {
    reserve(bytes, bodyBytes) {
      const isSmall = bodyBytes + bytes <= LARGE_BYTES;
      if (reserved + bytes > (isSmall ? maxBytes : maxBytes * LARGE_BODY_SHARE))
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
