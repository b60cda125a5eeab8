/** Limits the memory of request bodies, and of the responses that clients have not read yet. */

import type { Context } from "hono";
import { LARGE_BYTES } from "../lib/limits.ts";
import { RequestError } from "../lib/request-error.ts";
import { createSemaphore } from "../lib/semaphore.ts";
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

/** Resolves when this many more bytes are reserved for the response. */
export type ReserveBytes = (bytes: number) => Promise<void>;

interface ResponseBudgetOptions {
  bytesPerToken: number;
  waitMs: number;
}

/**
 * Limits the memory that slow clients can occupy. The responses to one token may contain
 * `bytesPerToken` of payloads. A request reserves the bytes before it reads payloads from the store, and
 * releases them when its response is sent. A request above the limit waits, and fails as `busy` after
 * `waitMs`. A client that never reads blocks only its own token.
 */
export function createResponseBudget({ bytesPerToken, waitMs }: ResponseBudgetOptions) {
  const semaphore = createSemaphore({ perKey: bytesPerToken });

  /** `sent` settles when the response has been sent, or when the client has disconnected. */
  return async (token: string, bytes: number, sent: Promise<unknown>): Promise<void> => {
    const release =
      semaphore.tryAcquire(token, bytes) ?? (await waitForRelease(token, bytes, sent));
    void sent.then(release, release);
  };

  async function waitForRelease(token: string, amount: number, sent: Promise<unknown>) {
    const abort = new AbortController();
    const stopWaiting = () => abort.abort();
    const timer = setTimeout(stopWaiting, waitMs);
    void sent.then(stopWaiting, stopWaiting);
    try {
      return await semaphore.acquire(token, { amount, signal: abort.signal });
    } catch {
      throw new RequestError(
        "busy",
        "responses",
        `the unread responses of this token have reached the limit of ${bytesPerToken} bytes; read them, then try again`,
      );
    } finally {
      clearTimeout(timer);
    }
  }
}

/** More than the size of the largest payload. */
const BYTES_PER_TOKEN = 32 * 1024 * 1024;
const WAIT_MS = 10_000;

/** Creates a function that reserves memory for a response until the host has sent it. */
export function createByteReservations(): (c: Context, token: string) => ReserveBytes {
  const reserve = createResponseBudget({ bytesPerToken: BYTES_PER_TOKEN, waitMs: WAIT_MS });
  return (c, token) => (bytes) => reserve(token, bytes, responseSent(c));
}

/**
 * Resolves when the response has been sent. On hosts other than Node it resolves immediately: those
 * runtimes limit memory themselves.
 */
export function responseSent(c: Context): Promise<unknown> {
  const { outgoing } = (c.env ?? {}) as {
    outgoing?: { destroyed: boolean; once(event: "close", on: () => void): void };
  };
  // A destroyed response emits no further `close`.
  if (!outgoing || outgoing.destroyed) return Promise.resolve();
  return new Promise<void>((resolve) => outgoing.once("close", resolve));
}
