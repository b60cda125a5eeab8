import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { expect, it } from "vitest";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { webHmacKey } from "../../kernel/lib/hmac.ts";
import { nodeHmacKey } from "./ports.ts";

it.each([0, 1, LARGE_BYTES, LARGE_BYTES + 1, 3 * LARGE_BYTES, 5_000_001])(
  "signs a body of %i bytes like Web Crypto",
  async (length) => {
    const parts = [utf8("v0:"), new Uint8Array(length).fill(7)];
    const signed = await nodeHmacKey(utf8("secret")).sign(parts);
    expect(new Uint8Array(signed)).toEqual(await webHmacKey(utf8("secret")).sign(parts));
  },
);
