import { createHmac, createSecretKey, type Hmac, hash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import type { MakeHmacKey, Sha256Hex } from "../../kernel/lib/hmac.ts";

/** Uses a `KeyObject`: signing with the raw bytes of a key takes twice as long on Node 24. */
export const nodeHmacKey: MakeHmacKey = (secret) => {
  const key = createSecretKey(secret);
  return {
    sign(parts) {
      const hmac = createHmac("sha256", key);
      if (parts.some(({ byteLength }) => byteLength > LARGE_BYTES)) return signLarge(hmac, parts);
      for (const part of parts) hmac.update(part);
      return hmac.digest();
    },
  };
};

/**
 * Signing 24 MB takes 40 ms, so this yields to the event loop after each slice. Web Crypto would use
 * another thread, but it copies the bytes first, which takes as long.
 */
async function signLarge(hmac: Hmac, parts: readonly Uint8Array[]): Promise<Uint8Array> {
  for (const part of parts)
    for (let at = 0; at < part.byteLength; at += LARGE_BYTES) {
      hmac.update(part.subarray(at, at + LARGE_BYTES));
      await setImmediate();
    }
  return hmac.digest();
}

/** Synchronous, since Web Crypto would need a thread and a promise for each short text. */
export const nodeSha256Hex: Sha256Hex = (text) => hash("sha256", text, "hex");
