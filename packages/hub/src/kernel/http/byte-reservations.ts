import type { Context } from "hono";
import { createResponseBudget, type ReserveBytes } from "./response-budget.ts";

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
