/**
 * HMAC-SHA256 and SHA-256. Hosts can replace Web Crypto with a faster implementation; see
 * hosts/node/ports.ts.
 */
import { concat, toHex, utf8 } from "./bytes.ts";
import type { MaybePromise } from "./maybe-promise.ts";

export interface HmacKey {
  sign(parts: readonly Uint8Array[]): MaybePromise<Uint8Array>;
}

export type MakeHmacKey = (secret: Uint8Array) => HmacKey;

export const webHmacKey: MakeHmacKey = (secret) => {
  const key = crypto.subtle.importKey(
    "raw",
    new Uint8Array(secret),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  return {
    sign: async (parts) =>
      new Uint8Array(await crypto.subtle.sign("HMAC", await key, concat(parts))),
  };
};

/** Returns the SHA-256 of a text, in hexadecimal. */
export type Sha256Hex = (text: string) => MaybePromise<string>;

export async function sha256Hex(text: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(text))));
}
