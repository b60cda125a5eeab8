/** Outbound webhooks as https://www.standardwebhooks.com has them, so that any receiver can verify. */
import { makeKey, standardSignature } from "../ingest/signatures.ts";
import { fromBase64, type MakeHmacKey, toBase64 } from "../lib/hmac.ts";

const PREFIX = "whsec_";
const LEAST_BYTES = 24;
const MOST_BYTES = 64;

/**
 * What is wrong with a secret, in words that do not repeat it; `undefined` where nothing is. Strict
 * about padding and alphabet: a receiver that reads base64 otherwise would get another key.
 */
export function webhookSecretFault(secret: string): string | undefined {
  if (!secret.startsWith(PREFIX)) return `must start with ${PREFIX}`;
  const text = secret.slice(PREFIX.length);
  const bytes = fromBase64(text);
  if (!bytes || toBase64(bytes) !== text)
    return `must be ${PREFIX} and then base64, with its padding and without spaces`;
  if (bytes.byteLength < LEAST_BYTES || bytes.byteLength > MOST_BYTES)
    return `must hold ${LEAST_BYTES} to ${MOST_BYTES} bytes in base64, not ${bytes.byteLength}: openssl rand -base64 32`;
  return undefined;
}

export interface WebhookToSign {
  /** The same in every attempt: receivers know repeats by it. */
  id: string;
  body: Uint8Array;
  /** Milliseconds, of this attempt. */
  now: number;
  /** While a secret is being replaced, both: a receiver needs to know only one of them. */
  secrets: readonly string[];
}

export async function signWebhook(
  { id, body, now, secrets }: WebhookToSign,
  makeHmacKey?: MakeHmacKey,
): Promise<Record<string, string>> {
  const signed = await Promise.all(
    secrets.map((secret) => {
      const fault = webhookSecretFault(secret);
      if (fault !== undefined) throw new Error(`The secret for signing ${fault}.`);
      const key = makeKey(standardSignature, secret, makeHmacKey);
      return standardSignature.sign({ id, body, now }, key);
    }),
  );
  const [first] = signed;
  if (!first) throw new Error("A webhook needs a secret to be signed with.");
  return {
    ...first,
    "webhook-signature": signed.map((headers) => headers["webhook-signature"]).join(" "),
  };
}
