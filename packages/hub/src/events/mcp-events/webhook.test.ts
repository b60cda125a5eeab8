import { randomBytes } from "node:crypto";
import {
  OutboundError,
  type OutboundErrorCode,
  type OutboundRequest,
} from "@signalbox/rules/flows/outbound.ts";
import fc from "fast-check";
import { Webhook as StandardWebhook, Webhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { describe, expect, it } from "vitest";
import { nodeHmacKey } from "../../hosts/node/ports.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { webHmacKey } from "../../kernel/lib/hmac.ts";
import { webhookSecretError } from "./protocol.ts";
import { createPostWebhook, signWebhook, verifyEndpoint } from "./webhook.ts";

const secret = `whsec_${Buffer.from("0123456789abcdef0123456789abcdef").toString("base64")}`;
const endpoint = { subscription: "sub_1", url: "https://a.example/", secrets: [secret] };

function setup(
  respond: (request: OutboundRequest) => { status: number; body?: string } = () => ({
    status: 200,
  }),
) {
  const requests: OutboundRequest[] = [];
  const post = createPostWebhook({
    now: Date.now,
    allowHttp: false,
    newId: () => "random",
    fetch: async (request) => {
      requests.push(request);
      const { status, body = "" } = respond(request);
      return { status, body: utf8(body), headers: new Headers(), url: request.url };
    },
  });
  return { post, requests };
}

const textOf = ({ body }: OutboundRequest) => new TextDecoder().decode(body);

describe("a webhook to a subscriber", () => {
  it("is signed, contains the ids of its event and subscription, and follows no redirect", async () => {
    const { post, requests } = setup();
    const occurrence = { eventId: "d-1", name: "github.issues", timestamp: "now", data: {} };
    await post(endpoint, occurrence);
    const [request] = requests as [OutboundRequest];
    expect(request).toMatchObject({
      method: "POST",
      url: endpoint.url,
      redirects: 0,
      allowHttp: false,
      headers: {
        "webhook-id": "d-1",
        "content-type": "application/json",
        "x-mcp-subscription-id": "sub_1",
      },
    });
    expect(new Webhook(secret).verify(textOf(request), { ...request.headers })).toEqual(occurrence);
  });

  it("gets a generated id if its message is not an event, such as `gap`", async () => {
    const { post, requests } = setup();
    await post(endpoint, { type: "gap", cursor: "1", message: "x" });
    expect(requests[0]?.headers["webhook-id"]).toBe("msg_gap_random");
  });
});

describe("an endpoint", () => {
  const verify = (respond: Parameters<typeof setup>[0]) =>
    verifyEndpoint(setup(respond).post, endpoint, "the challenge");

  it.each([
    ["as an object", 200, '{"challenge":"the challenge","more":1}'],
    ["as text", 202, "the challenge\n"],
  ])("is verified if it returns the challenge %s", async (_, status, body) => {
    expect(await verify(() => ({ status, body }))).toEqual({ outcome: "verified" });
  });

  it.each([
    [200, "", "challenge_failed"],
    [200, '{"challenge":"another"}', "challenge_failed"],
    [200, '{"challenge":["the challenge"]}', "challenge_failed"],
    [200, "the challenge and more", "challenge_failed"],
    [302, "the challenge", "challenge_failed"],
    [404, "the challenge", "http_4xx"],
    [503, "the challenge", "http_5xx"],
  ])("that returns %i %j fails the verification with %s", async (status, body, reason) => {
    expect(await verify(() => ({ status, body }))).toMatchObject({ outcome: "failed", reason });
  });

  it.each<[OutboundErrorCode, object]>([
    ["timeout", { outcome: "failed", reason: "timeout" }],
    ["tls_error", { outcome: "failed", reason: "tls_error" }],
    ["connection_refused", { outcome: "failed", reason: "connection_refused" }],
    ["dns_failed", { outcome: "failed", reason: "connection_refused" }],
    ["too_large", { outcome: "failed", reason: "challenge_failed" }],
    ["address_refused", { outcome: "rejected" }],
    ["invalid_url", { outcome: "rejected" }],
  ])(
    "that cannot be called (%s) fails the verification with the error message",
    async (code, expected) => {
      const verification = verify(() => {
        throw new OutboundError(code, "the error message");
      });
      expect(await verification).toMatchObject({ ...expected, message: "the error message" });
    },
  );
});

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
