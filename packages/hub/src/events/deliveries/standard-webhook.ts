/** Signs outbound webhooks as https://www.standardwebhooks.com specifies. */

import { fromBase64, toBase64 } from "../../kernel/lib/bytes.ts";
import type { MakeHmacKey } from "../../kernel/lib/hmac.ts";
import { makeSigningKey, standardSignature } from "../admit/signatures.ts";

const PREFIX = "whsec_";
const MIN_BYTES = 24;
const MAX_BYTES = 64;

/**
 * Returns why a secret is invalid, without repeating it; undefined if it is valid. Padding and alphabet
 * are checked strictly, because base64 decoders differ there: a receiver could decode another key.
 */
export function webhookSecretError(secret: string): string | undefined {
  if (!secret.startsWith(PREFIX)) return `must start with ${PREFIX}`;
  const text = secret.slice(PREFIX.length);
  const bytes = fromBase64(text);
  if (!bytes || toBase64(bytes) !== text)
    return `must be ${PREFIX} followed by base64, with padding and without spaces`;
  if (bytes.byteLength < MIN_BYTES || bytes.byteLength > MAX_BYTES)
    return `must contain ${MIN_BYTES} to ${MAX_BYTES} bytes in base64, not ${bytes.byteLength}: create it with openssl rand -base64 32`;
  return undefined;
}

export interface WebhookToSign {
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
