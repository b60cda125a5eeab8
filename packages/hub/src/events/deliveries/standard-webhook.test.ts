import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { describe, expect, it } from "vitest";
import { nodeHmacKey } from "../../hosts/node/hmac.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { webHmacKey } from "../../kernel/lib/hmac.ts";
import { signWebhook, webhookSecretError } from "./standard-webhook.ts";

const secretOf = (bytes: number) => `whsec_${randomBytes(bytes).toString("base64")}`;
const text = JSON.stringify({ eventId: "e1", data: { title: "Grüße 🚦" } });
const message = { id: "e1", body: utf8(text), now: Date.now() };

describe.each([
  ["Web Crypto", webHmacKey],
  ["Node's crypto", nodeHmacKey],
])("a webhook signed with %s", (_, makeHmacKey) => {
  it("is verified by standardwebhooks and by svix", async () => {
    for (const bytes of [24, 25, 32, 64]) {
      const secret = secretOf(bytes);
      const headers = await signWebhook({ ...message, secrets: [secret] }, makeHmacKey);
      for (const Webhook of [StandardWebhook, SvixWebhook]) {
        const webhook = new Webhook(secret);
        expect(() => webhook.verify(text, headers)).not.toThrow();
        expect(() => webhook.verify(`${text} `, headers)).toThrow(/signature/);
        expect(() => webhook.verify(text, { ...headers, "webhook-id": "e2" })).toThrow(/signature/);
      }
    }
  });

  it("is verified with either of two secrets, and with no other", async () => {
    const secrets = [secretOf(32), secretOf(32)];
    const headers = await signWebhook({ ...message, secrets }, makeHmacKey);
    expect(headers["webhook-signature"]).toMatch(/^v1,\S{44} v1,\S{44}$/);
    for (const Webhook of [StandardWebhook, SvixWebhook]) {
      for (const secret of secrets)
        expect(() => new Webhook(secret).verify(text, headers)).not.toThrow();
      expect(() => new Webhook(secretOf(32)).verify(text, headers)).toThrow(/signature/);
    }
  });
});

it("signWebhook returns exactly three headers, with the time in seconds", async () => {
  const headers = await signWebhook({
    ...message,
    now: 1_700_000_000_999,
    secrets: [secretOf(24)],
  });
  expect(headers).toEqual({
    "webhook-id": "e1",
    "webhook-timestamp": "1700000000",
    "webhook-signature": expect.stringMatching(/^v1,/),
  });
});

describe("a secret", () => {
  it.each([
    ["that is empty", "", /must start with whsec_/],
    ["without its prefix", randomBytes(32).toString("base64"), /must start with whsec_/],
    ["with another prefix", "WHSEC_AAAA", /must start with whsec_/],
    ["of no bytes", "whsec_", /24 to 64 bytes in base64, not 0/],
    ["of 23 bytes", secretOf(23), /24 to 64 bytes in base64, not 23/],
    ["of 65 bytes", secretOf(65), /24 to 64 bytes in base64, not 65/],
    ["in base64url", `whsec_${"_-".repeat(16)}`, /base64/],
    ["without padding", secretOf(32).slice(0, -1), /padding/],
    ["with a newline", `${secretOf(24)}\n`, /without spaces/],
    ["with a space", `whsec_ ${randomBytes(24).toString("base64")}`, /without spaces/],
    ["of text", "whsec_not base64!", /base64/],
  ])("%s is rejected by the check and by signWebhook", async (_, secret, expected) => {
    expect(webhookSecretError(secret)).toMatch(expected);
    await expect(signWebhook({ ...message, secrets: [secretOf(32), secret] })).rejects.toThrow(
      expected,
    );
  });

  it("of 24 to 64 arbitrary bytes is accepted", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 24, maxLength: 64 }), (bytes) => {
        const secret = `whsec_${Buffer.from(bytes).toString("base64")}`;
        return webhookSecretError(secret) === undefined;
      }),
    );
  });

  it("is required to sign a webhook", async () => {
    await expect(signWebhook({ ...message, secrets: [] })).rejects.toThrow(/needs a secret/);
  });
});
