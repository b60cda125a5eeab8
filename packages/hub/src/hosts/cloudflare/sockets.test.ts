import type { HibernatableSocket } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { LiveConnection, LiveStreams } from "../../events/live/live-streams.ts";
import { createTestTimers } from "../../kernel/lib/test-timers.ts";
import type { Notice } from "../../kernel/store/sql.ts";
import { createSockets } from "./live.ts";

function setUp() {
  const timers = createTestTimers();
  const alarms: number[] = [];
  const resumed: LiveConnection[] = [];
  let isValid = true;
  let tokenCheck = Promise.resolve();
  let notify: (notice: Notice) => void = () => {};
  const closeCodes: number[] = [];
  const sent: string[] = [];
  const access = { tenants: ["acme"] };
  let attachment: unknown = { access, after: new Map([["acme", 7]]) };
  const socket: HibernatableSocket = {
    send: (text) => void sent.push(text),
    close: (code = 0) => void closeCodes.push(code),
    serializeAttachment(value) {
      attachment = value;
    },
    deserializeAttachment: () => attachment,
  };
  const live = {
    async resume(_, connection) {
      await tokenCheck;
      if (!isValid) return connection.close(4401, "");
      resumed.push(connection);
      connection.onClose(() => resumed.splice(resumed.indexOf(connection), 1));
    },
  } as Partial<LiveStreams> as LiveStreams;
  const sockets = createSockets({
    state: { acceptWebSocket() {}, getWebSockets: () => [socket] },
    live,
    store: {
      subscribe(listener) {
        notify = listener;
        return () => {};
      },
    },
    timers: { ...timers, wakeAt: (time) => alarms.push(time) },
    onError(error) {
      throw error;
    },
  });
  return {
    timers,
    alarms,
    resumed,
    closeCodes,
    attachment: () => attachment,
    notify: () => notify({ topic: "events", tenant: "acme", seq: 1 }),
    deleteTenant: (tenant: string) => notify({ topic: "tenant_deleted", tenant }),
    invalidate() {
      isValid = false;
    },
    /** Delays the next checks of the token. Returns a function that lets them finish. */
    delayChecks() {
      const { promise, resolve } = Promise.withResolvers<void>();
      tokenCheck = promise;
      return resolve;
    },
    disconnect: () => sockets.onClose(socket),
    receive: (data: string | ArrayBuffer) => sockets.onMessage(socket, data),
    sent,
  };
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

it("subscribes a socket for a short time after an event, and saves its cursor", async () => {
  const { timers, resumed, notify, attachment } = setUp();
  await settle();
  timers.advance(2_000);
  expect(resumed).toHaveLength(0);
  notify();
  notify();
  await settle();
  expect(resumed).toHaveLength(1);
  const cursor = new Map([["acme", 9]]);
  expect(resumed[0]?.encoder.connected("log", cursor, ["acme"])).toBe("");
  resumed[0]?.encoder.heartbeat(1, cursor, ["acme"]);
  expect(attachment()).toMatchObject({ after: cursor });
  timers.advance(2_000);
  expect(resumed).toHaveLength(0);
});

it("saves a cursor that includes the events that the filter excludes", async () => {
  const { timers, resumed, attachment } = setUp();
  await settle();
  const cursor = new Map([["acme", 7]]);
  resumed[0]?.encoder.connected("log", cursor, ["acme"]);
  cursor.set("acme", 12);
  timers.advance(2_000);
  expect(attachment()).toMatchObject({ after: new Map([["acme", 12]]) });
});

it("unsubscribes a client that disconnects while its token is checked", async () => {
  const { timers, resumed, notify, delayChecks, disconnect } = setUp();
  await settle();
  timers.advance(2_000);
  const finishChecks = delayChecks();
  notify();
  disconnect();
  finishChecks();
  await settle();
  expect(resumed).toHaveLength(0);
});

it("does not unsubscribe a client while its token is checked, since it would not get the event", async () => {
  const { timers, resumed, notify, delayChecks } = setUp();
  await settle();
  timers.advance(2_000);
  notify();
  await settle();
  expect(resumed).toHaveLength(1);
  resumed[0]?.close(1013, ""); // the timer of the first client is still set
  const finishChecks = delayChecks();
  notify();
  timers.advance(2_000);
  finishChecks();
  await settle();
  expect(resumed.map((connection) => connection.isFull())).toEqual([false]);
  timers.advance(4_000);
  expect(resumed).toHaveLength(0);
});

it("does not unsubscribe a client just after an event, which may still be read from another object", async () => {
  const { timers, resumed, notify } = setUp();
  await settle();
  timers.advance(1_900);
  notify();
  timers.advance(200);
  expect(resumed).toHaveLength(1);
  timers.advance(4_000);
  expect(resumed).toHaveLength(0);
});

it("checks the tokens of idle sockets every five minutes, in an alarm", async () => {
  const { timers, alarms, invalidate, closeCodes } = setUp();
  await settle();
  expect(alarms).toEqual([timers.now() + 300_000]);
  timers.advance(2_000);
  invalidate();
  timers.advance(298_000);
  await settle();
  expect(closeCodes).toEqual([4401]);
  expect(alarms).toHaveLength(2);
});

it("closes idle and subscribed sockets of a deleted tenant, even if their tokens stay valid", async () => {
  for (const isIdle of [true, false]) {
    const { timers, resumed, closeCodes, deleteTenant } = setUp();
    await settle();
    if (isIdle) timers.advance(2_000);
    deleteTenant("umbrella");
    expect([resumed.length, closeCodes]).toEqual([isIdle ? 0 : 1, []]);
    deleteTenant("acme");
    expect([resumed.length, closeCodes]).toEqual([0, [4401]]);
  }
});

it.each([
  ["a text of too many characters", ["x".repeat(4_097)], 1009],
  ["a text of too many bytes", ["ü".repeat(2_049)], 1009],
  ["too many bytes in one message", [new ArrayBuffer(4_097)], 1009],
  ["too many bytes per second", Array(17).fill("x".repeat(4_096)), 1008],
  ["too many messages per second", Array(101).fill("x"), 1008],
])("closes a socket after %s, and ignores its further messages", async (_, messages, code) => {
  const { closeCodes, sent, receive, resumed } = setUp();
  await settle();
  receive("ping");
  expect(sent).toEqual(['{"pong":0}']);
  for (const message of messages) receive(message);
  receive("ping");
  expect([closeCodes, sent.length, resumed]).toEqual([[code], 1, []]);
});
