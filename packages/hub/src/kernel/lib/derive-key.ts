/** Derives a key for one purpose from the key that seals stored secrets (HKDF, RFC 5869). */
import { utf8 } from "./bytes.ts";
import { KEY_BYTES } from "./seal.ts";

export type HmacCryptoKey = Awaited<ReturnType<typeof crypto.subtle.deriveKey>>;

/** Returns an HMAC-SHA256 key. Rejects if `sealKey` is not complete: the key would be predictable. */
export async function deriveHmacKey(sealKey: Uint8Array, purpose: string): Promise<HmacCryptoKey> {
  if (sealKey.byteLength !== KEY_BYTES)
    throw new Error(`the key of the hub has ${sealKey.byteLength} bytes instead of ${KEY_BYTES}`);
  const secret = await crypto.subtle.importKey("raw", new Uint8Array(sealKey), "HKDF", false, [
    "deriveKey",
  ]);
  return crypto.subtle.deriveKey(
    { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: utf8(purpose) },
    secret,
    { name: "HMAC", hash: "SHA-256", length: 256 },
    false,
    ["sign"],
  );
}
