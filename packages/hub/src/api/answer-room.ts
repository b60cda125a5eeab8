/** How much the answers that one token's clients have not read yet may hold together. */
import type { Context } from "hono";
import { createResponseBudget, type ReserveBytes } from "../inbox/response-budget.ts";

/** The largest payload fits. */
const ROOM_BYTES = 32 * 1024 * 1024;
const ROOM_WAIT_MS = 10_000;

export function createAnswerRoom(): (c: Context, token: string) => ReserveBytes {
  const takeRoom = createResponseBudget({ bytesPerToken: ROOM_BYTES, waitMs: ROOM_WAIT_MS });
  return (c, token) => (bytes) => takeRoom(token, bytes, answered(c));
}

/** When the answer has left, on hosts that can tell: Node says so, elsewhere the runtime bounds it. */
export function answered(c: Context): Promise<unknown> {
  const { outgoing } = (c.env ?? {}) as {
    outgoing?: { destroyed: boolean; once(event: "close", on: () => void): void };
  };
  // Who has left already is not told once more.
  if (!outgoing || outgoing.destroyed) return Promise.resolve();
  return new Promise<void>((close) => outgoing.once("close", close));
}
