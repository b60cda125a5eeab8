/**
 * Sends signed webhooks (https://www.standardwebhooks.com) to the endpoints of subscribers, and interprets
 * the responses. Redirects are not followed: their target is not verified.
 */
import {
  type GuardedFetch,
  OutboundError,
  type OutboundErrorCode,
  type OutboundResponse,
} from "@signalbox/rules/flows/outbound.ts";
import { equalBytes, utf8 } from "../../kernel/lib/bytes.ts";
import type { MakeHmacKey } from "../../kernel/lib/hmac.ts";
import { makeSigningKey, standardSignature } from "../admit/signatures.ts";
import {
  type CallbackReason,
  type Envelope,
  type Occurrence,
  SUBSCRIPTION_HEADER,
  webhookSecretError,
} from "./protocol.ts";

const MAX_RESPONSE_BYTES = 64 * 1024;

export interface Endpoint {
  /** The id of the subscription. */
  subscription: string;
  url: string;
  /** The decrypted secrets. The message has one signature for each of them. */
  secrets: readonly string[];
}

interface PostOptions {
  fetch: GuardedFetch;
  now: () => number;
  allowHttp: boolean;
  makeHmacKey?: MakeHmacKey | undefined;
  timeoutMs?: number;
  newId?: () => string;
}

export type PostWebhook = (
  endpoint: Endpoint,
  message: Occurrence | Envelope,
  signal?: AbortSignal,
) => Promise<OutboundResponse>;

export function createPostWebhook({
  fetch,
  now,
  allowHttp,
  makeHmacKey,
  timeoutMs = 15_000,
  newId = () => crypto.randomUUID(),
}: PostOptions): PostWebhook {
  return async ({ subscription, url, secrets }, message, signal) => {
    const body = utf8(JSON.stringify(message));
    const id = "eventId" in message ? message.eventId : `msg_${message.type}_${newId()}`;
    const signatureHeaders = await signWebhook({ id, body, now: now(), secrets }, makeHmacKey);
    return fetch({
      method: "POST",
      url,
      headers: {
        ...signatureHeaders,
        "content-type": "application/json",
        "user-agent": "signalbox",
        [SUBSCRIPTION_HEADER]: subscription,
      },
      body,
      maxResponseBytes: MAX_RESPONSE_BYTES,
      timeoutMs,
      redirects: 0,
      allowHttp,
      ...(signal ? { signal } : {}),
    });
  };
}

interface WebhookToSign {
  /** The same in every attempt, so that receivers can deduplicate. */
  id: string;
  body: Uint8Array;
  /** The time of this attempt, in milliseconds. */
  now: number;
  /** During a rotation there are two; a receiver can verify with either of them. */
  secrets: readonly string[];
}

export async function signWebhook(
  { id, body, now, secrets }: WebhookToSign,
  makeHmacKey?: MakeHmacKey,
): Promise<Record<string, string>> {
  const headersBySecret = await Promise.all(
    secrets.map((secret) => {
      const message = webhookSecretError(secret);
      if (message !== undefined) throw new Error(`The signing secret ${message}.`);
      const key = makeSigningKey(standardSignature, secret, makeHmacKey);
      return standardSignature.sign({ id, body, now }, key);
    }),
  );
  const [first] = headersBySecret;
  if (!first) throw new Error("A webhook needs a secret to sign with.");
  return {
    ...first,
    "webhook-signature": headersBySecret.map((headers) => headers["webhook-signature"]).join(" "),
  };
}

export type SendResult =
  | { result: "accepted" | "gone" | "too_large" }
  | { result: "failed"; reason: string; retryAfterMs: number };

const MAX_RETRY_AFTER_MS = 60 * 60_000;

/** Makes one attempt to send a message to an endpoint. */
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

type Verification =
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

/** Verifies that an endpoint agrees to receive webhooks: it must return the challenge. */
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
