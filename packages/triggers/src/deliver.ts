/** Makes one attempt to deliver an event, and interprets the response. */
import type { Credentials, Delivery } from "./storage.ts";
import { messageOf } from "./trigger-error.ts";

export type AttemptResult =
  | { outcome: "delivered" }
  /** The token is not valid. The client may have replaced it meanwhile. */
  | { outcome: "unauthorized"; message: string; retryAfterMs?: number }
  /** The trigger of this subscription was paused or removed. */
  | { outcome: "gone" }
  /** The receiver will never accept this event. */
  | { outcome: "rejected"; status: number; message: string }
  | { outcome: "failed"; message: string; retryAfterMs?: number };

export interface AttemptPorts {
  fetch: typeof fetch;
  timeoutMs: number;
  now: () => number;
}

const MAX_RETRY_AFTER_MS = 24 * 3600_000;
const MAX_QUOTED_LENGTH = 500;

export async function attemptDelivery(
  delivery: Delivery,
  { callbackUrl, callbackToken }: Credentials,
  { fetch, timeoutMs, now }: AttemptPorts,
): Promise<AttemptResult> {
  try {
    const response = await fetch(callbackUrl, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${callbackToken}`,
        "idempotency-key": delivery.id,
      },
      body: delivery.body,
      // A redirect could pass the token to another server.
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    });
    // The text is only quoted in the message, so an error while it is read does not matter.
    const text = await response.text().catch(() => "");
    return interpretResponse(response, text, now());
  } catch (error) {
    const cause = error instanceof Error && error.cause ? ` (${messageOf(error.cause)})` : "";
    return { outcome: "failed", message: `${messageOf(error)}${cause}` };
  }
}

function interpretResponse(response: Response, text: string, now: number): AttemptResult {
  const { status } = response;
  if (response.ok) return { outcome: "delivered" };
  const message = `HTTP ${status} ${text.slice(0, MAX_QUOTED_LENGTH)}`.trim();
  if (status === 401) return { outcome: "unauthorized", message };
  if (status === 410) return { outcome: "gone" };
  if ([400, 413, 415, 422].includes(status)) return { outcome: "rejected", status, message };
  const retryAfterMs = parseRetryAfter(response.headers.get("retry-after"), now);
  return { outcome: "failed", message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

/** Returns milliseconds. The header has seconds or a date. */
function parseRetryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}
