/** Sends a signed POST to a subscriber. Redirects are not followed: their target is not verified. */
import type { GuardedFetch, OutboundResponse } from "@signalbox/rules/flows/outbound.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import type { MakeHmacKey } from "../../kernel/lib/hmac.ts";
import { type Envelope, type Occurrence, SUBSCRIPTION_HEADER } from "../mcp-events/protocol.ts";
import { signWebhook } from "./standard-webhook.ts";

const MAX_RESPONSE_BYTES = 64 * 1024;

export interface Endpoint {
  /** The id of the subscription. */
  subscription: string;
  url: string;
  /** The decrypted secrets. The message has one signature for each of them. */
  secrets: readonly string[];
}

export interface PostOptions {
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
