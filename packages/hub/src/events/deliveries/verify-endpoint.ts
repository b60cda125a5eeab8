/** Verifies that an endpoint agrees to receive webhooks: it must return a challenge. */
import { OutboundError, type OutboundErrorCode } from "@signalbox/rules/flows/outbound.ts";
import { equalBytes, utf8 } from "../../kernel/lib/bytes.ts";
import type { CallbackReason } from "../mcp-events/protocol.ts";
import type { Endpoint, PostWebhook } from "./post-webhook.ts";

export type Verification =
  | { outcome: "verified" }
  | { outcome: "failed"; reason: CallbackReason; message: string }
  /** The hub may not call the URL. */
  | { outcome: "rejected"; message: string };

const failed = (reason: CallbackReason, message: string): Verification => ({
  outcome: "failed",
  reason,
  message,
});

/** All other codes mean `connection_refused`. */
const REASONS: Partial<Record<OutboundErrorCode, CallbackReason>> = {
  timeout: "timeout",
  tls_error: "tls_error",
  too_large: "challenge_failed",
};

export async function verifyEndpoint(
  post: PostWebhook,
  endpoint: Endpoint,
  challenge: string,
): Promise<Verification> {
  try {
    const { status, body } = await post(endpoint, { type: "verification", challenge });
    if (status >= 200 && status < 300)
      return containsChallenge(body, challenge)
        ? { outcome: "verified" }
        : failed(
            "challenge_failed",
            'The endpoint did not return the challenge: respond with { "challenge": … } and the value that was sent.',
          );
    if (status >= 500) return failed("http_5xx", `The endpoint returned ${status}.`);
    if (status >= 400) return failed("http_4xx", `The endpoint returned ${status}.`);
    return failed(
      "challenge_failed",
      `The endpoint returned ${status}; redirects are not followed.`,
    );
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    if (error.code === "invalid_url" || error.code === "address_refused")
      return { outcome: "rejected", message: error.message };
    return failed(REASONS[error.code] ?? "connection_refused", error.message);
  }
}

/** Whether the body is the challenge, or a JSON object with the challenge as property `challenge`. */
function containsChallenge(body: Uint8Array, challenge: string): boolean {
  const text = new TextDecoder().decode(body).trim();
  return equalBytes(utf8(challengeIn(text) ?? text), utf8(challenge));
}

function challengeIn(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const challenge =
      typeof value === "object" && value !== null && "challenge" in value
        ? value.challenge
        : undefined;
    return typeof challenge === "string" ? challenge : undefined;
  } catch {
    return undefined;
  }
}
