/** Live streams without a transport. hosts/node/live.test.ts tests them on real sockets. */
import { expect, it } from "vitest";
import type { Access } from "../../kernel/access/authorizer.ts";
import { createStreamSlots } from "../../kernel/access/stream-slots.ts";
import { createTestTimers } from "../../kernel/lib/test-timers.ts";
import { createLiveStreams, isAnswer, type LiveConnection } from "./live-streams.ts";
import { socketEncoder } from "./message-encoder.ts";

const access: Access = { token: "t", name: "t", scopes: ["inbox:read"], tenants: ["acme"] };

function setUp() {
  const timers = createTestTimers();
  let revoke = () => {};
  let current = access;
  let isValid = true;
  const streams = createLiveStreams({
    store: { subscribe: () => () => {}, getLogId: async () => "0a1b2c3d" },
    feed: {
      follow: async () => ({ cursor: new Map([["acme", 7]]), stop() {}, resume() {} }),
      close() {},
    },
    async *followRun() {},
    authorizeRequest: async () => current,
    recheck: async () => isValid,
    streamSlots: createStreamSlots({
      authorizer: {
        watch(_, onRevoked) {
          revoke = onRevoked;
          return () => {};
        },
      },
      max: 3,
    }),
    timers,
    onError: (error) => {
      throw error;
    },
    heartbeatMs: 100,
    stallCheckMs: 1_000,
  });
  const open = async (tenant = "acme") => {
    current = { ...access, tenants: [tenant] };
    const sent: string[] = [];
    const closeCodes: number[] = [];
    let disconnect = () => {};
    const connection: LiveConnection = {
      encoder: socketEncoder,
      send: (text) => sent.push(text),
      isFull: () => false,
      onDrain() {},
      onClose(listener) {
        disconnect = listener;
      },
      close: (code) => closeCodes.push(code),
    };
    const subscription = await streams.authorize({
      method: "GET",
      url: "/events",
      header: () => undefined,
    });
    if (isAnswer(subscription)) throw new Error(`${subscription.status} ${subscription.body}`);
    await streams.follow(subscription, connection);
    const resume = () => streams.resume(subscription, connection);
    return { sent, closeCodes, disconnect: () => disconnect(), resume };
  };
  const invalidate = () => {
    isValid = false;
  };
  return { timers, streams, open, revoke: () => revoke(), invalidate };
}

it("resumes a stream only if its token is still valid", async () => {
  const { open, streams, invalidate } = setUp();
  const client = await open();
  client.disconnect();
  await client.resume();
  expect([streams.countConnected(), client.closeCodes]).toEqual([1, []]);
  client.disconnect();
  invalidate();
  await client.resume();
  expect([streams.countConnected(), client.closeCodes]).toEqual([0, [4401]]);
});

it("sends heartbeats with the cursor, and has timers only while clients are connected", async () => {
  const { timers, open } = setUp();
  expect(timers.pending()).toBe(0);
  const [first, second] = [await open(), await open()];
  timers.advance(200);
  const beats = [100, 200].map((heartbeat) => JSON.stringify({ heartbeat, cursor: "7" }));
  expect([first.sent, second.sent]).toEqual([beats, beats]);
  first.disconnect();
  expect(timers.pending()).toBe(2);
  second.disconnect();
  expect(timers.pending()).toBe(0);
  await open();
  expect(timers.pending()).toBe(2);
});

it("closes with 4401 when the token is revoked, and with 1001 when the hub stops", async () => {
  const { timers, streams, open, revoke } = setUp();
  const client = await open();
  revoke();
  expect(client.closeCodes).toEqual([4401]);
  streams.close();
  expect(client.closeCodes).toEqual([4401, 1001]);
  expect(timers.pending()).toBe(0);
});

it("returns 405 for methods other than GET", async () => {
  const { streams } = setUp();
  const answer = await streams.authorize({
    method: "POST",
    url: "/events",
    header: () => undefined,
  });
  expect(answer).toMatchObject({ status: 405, headers: { allow: "GET" } });
});

it("closes a stream of the tenant with the most streams when another tenant needs a slot", async () => {
  const { open } = setUp();
  const first = await open();
  const second = await open();
  await open();
  await expect(open()).rejects.toThrow(/429 .*SIGNALBOX_MAX_STREAMS/);
  const other = await open("umbrella");
  expect([first.closeCodes, second.closeCodes, other.closeCodes]).toEqual([[1013], [], []]);
  await expect(open("umbrella")).rejects.toThrow("429");
  second.disconnect();
  await open("umbrella");
});
