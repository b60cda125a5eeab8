import { expect, it } from "vitest";
import { parseNetworks } from "./addresses.ts";
import type { IncomingRequest } from "./incoming-request.ts";
import { createReceiveWebhook, type ReceiveWebhookOptions } from "./receive-webhook.ts";

function setUp(options: Partial<ReceiveWebhookOptions> = {}) {
  const received: IncomingRequest[] = [];
  const rejected: string[] = [];
  const receive = createReceiveWebhook({
    receive: async (request) => {
      received.push(request);
      return { outcome: "pong" };
    },
    proxy: undefined,
    isStopping: () => false,
    onRejected: ({ reason }, address) => rejected.push(`${reason} ${address}`),
    ...options,
  });
  const send = (url: string, headers: Record<string, string> = {}) =>
    receive({
      url,
      peer: "192.0.2.1",
      method: "POST",
      header: (name) => (headers[name] === undefined ? [] : [headers[name]]),
      headerNames: () => Object.keys(headers),
      body: () => new Uint8Array(),
    });
  return { send, received, rejected };
}

it.each([
  ["/webhooks/github", "github", undefined],
  ["/webhooks/github?x=/y", "github", undefined],
  ["/webhooks/github/", "github", undefined],
  ["/webhooks/stripe/KEY", "stripe", "KEY"],
  ["/webhooks/stripe/KEY/more", "", undefined],
  ["/webhooks/", "", undefined],
])("reads source and key from %s", async (url, source, key) => {
  const { send, received } = setUp();
  expect(await send(url)).toEqual({ outcome: "pong" });
  expect(received).toMatchObject([{ source, key, address: "192.0.2.1" }]);
});

it("reads the client's address from the header of a trusted proxy only", async () => {
  const headers = { "x-forwarded-for": "198.51.100.7" };
  const behindProxy = (network: string) =>
    setUp({ proxy: { header: "x-forwarded-for", networks: parseNetworks([network]) } });
  const trusted = behindProxy("192.0.2.0/24");
  await trusted.send("/webhooks/github", headers);
  expect(trusted.received[0]?.address).toBe("198.51.100.7");
  const untrusted = behindProxy("10.0.0.0/8");
  await untrusted.send("/webhooks/github", headers);
  expect(untrusted.received[0]?.address).toBe("192.0.2.1");
});

it("rejects and reports requests while the hub is stopping", async () => {
  const { send, received, rejected } = setUp({ isStopping: () => true });
  expect(await send("/webhooks/github")).toMatchObject({ reason: "stopping", retryAfter: 5 });
  expect([received, rejected]).toEqual([[], ["stopping 192.0.2.1"]]);
});
