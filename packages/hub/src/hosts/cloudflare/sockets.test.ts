import type { HibernatableSocket } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { LiveConnection, LiveStreams } from "../../api/live-streams.ts";
import { createTestTimers } from "../../lib/test-timers.ts";
import type { Notice } from "../../store/sql.ts";
import { createSockets } from "./sockets.ts";

function setUp() {
  const timers = createTestTimers();
  const alarms: number[] = [];
  const resumed: LiveConnection[] = [];
  let isValid = true;
  let checked = Promise.resolve();
  let notify: (notice: Notice) => void = () => {};
  const closed: number[] = [];
  const sent: string[] = [];
  let attachment: unknown = { after: new Map([["acme", 7]]) };
  const socket: HibernatableSocket = {
    send: (text) => void sent.push(text),
    close: (code = 0) => void closed.push(code),
    serializeAttachment(value) {
      attachment = value;
    },
    deserializeAttachment: () => attachment,
  };
  const live = {
    async resume(_, connection) {
      await checked;
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
    closed,
    attachment: () => attachment,
    notify: () => notify({ topic: "events", tenant: "acme", seq: 1 }),
    invalidate() {
      isValid = false;
    },
    /** Delays the next checks of the token. Returns a function that lets them finish. */
    delayChecks() {
      const { promise, resolve } = Promise.withResolvers<void>();
      checked = promise;
      return resolve;
    },
    disconnect: () => sockets.onClose(socket),
    receive: (data: string | ArrayBuffer) => sockets.onMessage(socket, data),
    sent,
  };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

it("subscribes a socket for a short time after an event, and saves its cursor", async () => {
  const { timers, resumed, notify, attachment } = setUp();
  await settled();
  timers.advance(2_000);
  expect(resumed).toHaveLength(0);
  notify();
  notify();
  await settled();
  expect(resumed).toHaveLength(1);
  const cursor = new Map([["acme", 9]]);
  expect(resumed[0]?.encoder.connected("log", cursor, ["acme"])).toBe("");
  resumed[0]?.encoder.heartbeat(1, cursor, ["acme"]);
  expect(attachment()).toEqual({ after: cursor });
  timers.advance(2_000);
  expect(resumed).toHaveLength(0);
});

it("saves a cursor after the events that the filter excludes", async () => {
  const { timers, resumed, attachment } = setUp();
  await settled();
  const cursor = new Map([["acme", 7]]);
  resumed[0]?.encoder.connected("log", cursor, ["acme"]);
  cursor.set("acme", 12);
  timers.advance(2_000);
  expect(attachment()).toEqual({ after: new Map([["acme", 12]]) });
});

it("stops a client that disconnects while its token is checked", async () => {
  const { timers, resumed, notify, delayChecks, disconnect } = setUp();
  await settled();
  timers.advance(2_000);
  const finishChecks = delayChecks();
  notify();
  disconnect();
  finishChecks();
  await settled();
  expect(resumed).toHaveLength(0);
});

it("does not stop a client while its token is checked: it would not get the event", async () => {
  const { timers, resumed, notify, delayChecks } = setUp();
  await settled();
  timers.advance(2_000);
  notify();
  await settled();
  expect(resumed).toHaveLength(1);
  resumed[0]?.close(1013, ""); // the timer of the first client is still set
  const finishChecks = delayChecks();
  notify();
  timers.advance(2_000);
  finishChecks();
  await settled();
  expect(resumed.map((connection) => connection.isFull())).toEqual([false]);
  timers.advance(4_000);
  expect(resumed).toHaveLength(0);
});

it("does not stop a client just after an event, which may still be read from another object", async () => {
  const { timers, resumed, notify } = setUp();
  await settled();
  timers.advance(1_900);
  notify();
  timers.advance(200);
  expect(resumed).toHaveLength(1);
  timers.advance(4_000);
  expect(resumed).toHaveLength(0);
});

it("checks the tokens of idle sockets every five minutes, by an alarm", async () => {
  const { timers, alarms, invalidate, closed } = setUp();
  await settled();
  expect(alarms).toEqual([timers.now() + 300_000]);
  timers.advance(2_000);
  invalidate();
  timers.advance(298_000);
  await settled();
  expect(closed).toEqual([4401]);
  expect(alarms).toHaveLength(2);
});

it.each([
  ["a text of too many characters", ["x".repeat(4_097)], 1009],
  ["a text of too many bytes", ["ü".repeat(2_049)], 1009],
  ["too many bytes in one message", [new ArrayBuffer(4_097)], 1009],
  ["too many bytes per second", Array(17).fill("x".repeat(4_096)), 1008],
  ["too many messages per second", Array(101).fill("x"), 1008],
])("closes a socket after %s, and does not respond any more", async (_, messages, code) => {
  const { closed, sent, receive, resumed } = setUp();
  await settled();
  receive("ping");
  expect(sent).toEqual(['{"pong":0}']);
  for (const message of messages) receive(message);
  receive("ping");
  expect([closed, sent.length, resumed]).toEqual([[code], 1, []]);
});
