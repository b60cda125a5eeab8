/** A seal encrypts and decrypts stored secrets with AES-256-GCM and the hub's key. */
import { concat, fromBase64, toBase64, utf8 } from "./bytes.ts";

export interface Seal {
  seal(text: string): Promise<string>;
  unseal(sealed: string): Promise<string>;
}

export class CannotUnseal extends Error {
  readonly code = "cannot_unseal";
  constructor(cause: unknown) {
    super(
      "A stored secret cannot be decrypted with this hub's key. Start every replica with the same SIGNALBOX_KEY, or enter the secret again.",
      { cause },
    );
  }
}

const FORMAT = "v1.";
const IV_BYTES = 12;
export const KEY_BYTES = 32;

/** Returns the keys in a text, separated by commas or white space; undefined if one of them is invalid. */
export function parseKeys(text: string): [Uint8Array, ...Uint8Array[]] | undefined {
  const [first, ...others] = text
    .trim()
    .split(/\s*,\s*|\s+/)
    .map(fromBase64);
  const isKey = (key: Uint8Array | undefined): key is Uint8Array => key?.byteLength === KEY_BYTES;
  return isKey(first) && others.every(isKey) ? [first, ...others] : undefined;
}

/** Encrypts with `key`. Also decrypts what was encrypted with a former key. */
export function createSeal(key: Uint8Array, formerKeys: readonly Uint8Array[] = []): Seal {
  const importKey = (bytes: Uint8Array) =>
    crypto.subtle.importKey("raw", new Uint8Array(bytes), "AES-GCM", false, ["encrypt", "decrypt"]);
  const imported = importKey(key);
  const all = [imported, ...formerKeys.map(importKey)];
  return {
    async seal(text) {
      const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
      const encrypted = await crypto.subtle.encrypt(
        { name: "AES-GCM", iv },
        await imported,
        utf8(text),
      );
      return FORMAT + toBase64(concat([iv, new Uint8Array(encrypted)]));
    },
    async unseal(sealed) {
      const bytes = new Uint8Array(fromBase64(sealed.slice(FORMAT.length)) ?? []);
      const iv = bytes.slice(0, IV_BYTES);
      let cause: unknown;
      for (const candidate of all)
        try {
          const decrypted = await crypto.subtle.decrypt(
            { name: "AES-GCM", iv },
            await candidate,
            bytes.slice(IV_BYTES),
          );
          return new TextDecoder().decode(decrypted);
        } catch (error) {
          cause ??= error;
        }
      throw new CannotUnseal(cause);
    },
  };
}

export type HmacCryptoKey = Awaited<ReturnType<typeof crypto.subtle.deriveKey>>;

/**
 * Derives an HMAC-SHA256 key for one purpose from the key that seals stored secrets (HKDF, RFC 5869). Rejects if
 * `sealKey` is not complete: the key would be predictable.
 */
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
