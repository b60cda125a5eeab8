import {
  OutboundError,
  type OutboundErrorCode,
  type OutboundRequest,
} from "@signalbox/rules/flows/outbound.ts";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { createPostWebhook } from "./post-webhook.ts";
import { verifyEndpoint } from "./verify-endpoint.ts";

const secret = `whsec_${Buffer.from("0123456789abcdef0123456789abcdef").toString("base64")}`;
const endpoint = { subscription: "sub_1", url: "https://a.example/", secrets: [secret] };
const utf8 = (text: string) => new TextEncoder().encode(text);

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
