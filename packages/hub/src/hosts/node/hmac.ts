import { createHmac, createSecretKey } from "node:crypto";
import type { MakeHmacKey } from "../../lib/hmac.ts";

/** Synchronous, with a `KeyObject`: signing with raw bytes takes twice as long on Node 24. */
export const nodeHmacKey: MakeHmacKey = (secret) => {
  const key = createSecretKey(secret);
  return {
    sign(parts) {
      const hmac = createHmac("sha256", key);
      for (const part of parts) hmac.update(part);
      return hmac.digest();
    },
  };
};
