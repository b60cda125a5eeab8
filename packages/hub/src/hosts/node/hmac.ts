import { createHmac, createSecretKey, hash } from "node:crypto";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { type HmacKey, type MakeHmacKey, type Sha256Hex, webHmacKey } from "../../lib/hmac.ts";

/**
 * Synchronous, with a `KeyObject`: signing with raw bytes takes twice as long on Node 24. Large bodies
 * are signed by Web Crypto in another thread: 24 MB take 40 ms.
 */
export const nodeHmacKey: MakeHmacKey = (secret) => {
  const key = createSecretKey(secret);
  let web: HmacKey | undefined;
  return {
    sign(parts) {
      if (parts.some(({ byteLength }) => byteLength > LARGE_BYTES)) {
        web ??= webHmacKey(secret);
        return web.sign(parts);
      }
      const hmac = createHmac("sha256", key);
      for (const part of parts) hmac.update(part);
      return hmac.digest();
    },
  };
};

/** Synchronous: Web Crypto would need a thread and a promise for each short text. */
export const nodeSha256Hex: Sha256Hex = (text) => hash("sha256", text, "hex");
