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

export function createSeal(key: Uint8Array): Seal {
  const imported = crypto.subtle.importKey("raw", new Uint8Array(key), "AES-GCM", false, [
    "encrypt",
    "decrypt",
  ]);
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
      try {
        const bytes = new Uint8Array(fromBase64(sealed.slice(FORMAT.length)) ?? []);
        const iv = bytes.slice(0, IV_BYTES);
        const decrypted = await crypto.subtle.decrypt(
          { name: "AES-GCM", iv },
          await imported,
          bytes.slice(IV_BYTES),
        );
        return new TextDecoder().decode(decrypted);
      } catch (error) {
        throw new CannotUnseal(error);
      }
    },
  };
}
