import { expect, it } from "vitest";
import { parseNetworks } from "../../kernel/http/addresses.ts";
import {
  type CallbackRequest,
  createReceiveRequest,
  type IncomingRequest,
  isIngestPath,
  type ReceiveRequestOptions,
} from "./receive-request.ts";

function setUp(options: Partial<ReceiveRequestOptions> = {}) {
  const received: IncomingRequest[] = [];
  const callbacks: CallbackRequest[] = [];
  const rejected: string[] = [];
  const receive = createReceiveRequest({
    receive: async (request) => {
      received.push(request);
      return { outcome: "pong" };
    },
    receiveCallback: async (request) => {
      callbacks.push(request);
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
  return { send, received, callbacks, rejected };
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

it.each(["/api/trigger-callback", "/api/trigger-callback?x=1"])(
  "receives callbacks at %s",
  async (url) => {
    const { send, received, callbacks } = setUp();
    expect(isIngestPath(url)).toBe(true);
    await send(url, { authorization: "Bearer x" });
    expect(received).toEqual([]);
    expect(callbacks).toMatchObject([{ method: "POST", address: "192.0.2.1" }]);
    expect(callbacks[0]?.header("authorization")).toEqual(["Bearer x"]);
  },
);

it.each([
  ["/webhooks/github", true],
  ["/webhooks", false],
  ["/api/trigger-callback/x", false],
  ["/api/trigger-callbacks", false],
  ["/api/trigger-callback#x", false],
  ["/", false],
])("isIngestPath of %s is %s", (url, expected) => {
  expect(isIngestPath(url)).toBe(expected);
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

it.each(["/webhooks/github", "/api/trigger-callback"])(
  "rejects and reports requests to %s while the hub is stopping",
  async (url) => {
    const { send, received, callbacks, rejected } = setUp({ isStopping: () => true });
    expect(await send(url)).toMatchObject({ reason: "stopping", retryAfter: 5 });
    expect([received, callbacks, rejected]).toEqual([[], [], ["stopping 192.0.2.1"]]);
  },
);
