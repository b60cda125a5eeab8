/** Makes one attempt to send a message to an endpoint, and interprets the response. */
import type { OutboundResponse } from "@signalbox/rules/flows/outbound.ts";
import type { Envelope, Occurrence } from "../mcp-events/protocol.ts";
import type { Endpoint, PostWebhook } from "./post-webhook.ts";

export type SendResult =
  | { result: "accepted" | "gone" | "too_large" }
  | { result: "failed"; reason: string; retryAfterMs: number };

const MAX_RETRY_AFTER_MS = 60 * 60_000;

export async function sendWebhook(
  post: PostWebhook,
  endpoint: Endpoint,
  message: Occurrence | Envelope,
  { signal, now }: { signal: AbortSignal; now: () => number },
): Promise<SendResult> {
  try {
    const response = await post(endpoint, message, signal);
    const { status } = response;
    if (status >= 200 && status < 300) return { result: "accepted" };
    if (status === 410) return { result: "gone" };
    if (status === 413) return { result: "too_large" };
    return sendFailure(`The endpoint returned ${status}.`, retryAfterMs(response, now()));
  } catch (error) {
    return sendFailure(error instanceof Error ? error.message : String(error));
  }
}

export const sendFailure = (reason: string, retryAfterMs = 0): SendResult => ({
  result: "failed",
  reason,
  retryAfterMs,
});

/** `Retry-After` contains seconds or a date. */
function retryAfterMs({ headers }: OutboundResponse, now: number): number {
  const value = headers.get("retry-after") ?? "";
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - now;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS) : 0;
}
