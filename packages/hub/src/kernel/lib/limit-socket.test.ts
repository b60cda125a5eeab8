import { expect, it } from "vitest";
import { createAllowance, limitSocket } from "./limit-socket.ts";
import { SOCKET_LIMITS } from "./limits.ts";

function setUp() {
  const closed: [number, string][] = [];
  let time = 0;
  const limit = limitSocket(
    () => time,
    (...reason) => closed.push(reason),
  );
  const wait = (ms: number) => {
    time += ms;
  };
  return { ...limit, closed, wait };
}

it("closes with 1009 after a message above the limit", () => {
  const { takeMessage, closed } = setUp();
  expect(takeMessage(SOCKET_LIMITS.messageBytes)).toBe(true);
  expect(takeMessage(SOCKET_LIMITS.messageBytes + 1)).toBe(false);
  expect(closed).toEqual([[1009, "The limit is 4096 bytes per message."]]);
});

it("closes with 1008 after too many bytes or frames, including those of messages", () => {
  const bytes = setUp();
  for (let sent = 0; sent < 16; sent += 1) expect(bytes.takeMessage(4_096)).toBe(true);
  expect(bytes.takeMessage(4_096)).toBe(false);
  expect(bytes.closed).toEqual([[1008, "The limit is 16384 bytes per second."]]);
  const frames = setUp();
  for (let sent = 0; sent < 50; sent += 1)
    expect([frames.takeMessage(4), frames.takeFrame()]).toEqual([true, true]);
  expect(frames.takeMessage(4)).toBe(false);
  expect(frames.closed).toEqual([[1008, "The limit is 20 frames per second."]]);
});

it("refills the limits over time, but allows nothing after closing, and closes once", () => {
  const { takeBytes, takeFrame, takeMessage, closed, wait } = setUp();
  expect(takeBytes(SOCKET_LIMITS.bytes.burst)).toBe(true);
  wait(1_000);
  expect(takeBytes(SOCKET_LIMITS.bytes.perSecond)).toBe(true);
  expect(takeBytes(1)).toBe(false);
  wait(60_000);
  expect([takeBytes(1), takeFrame(), takeMessage(5_000)]).toEqual([false, false, false]);
  expect(closed).toHaveLength(1);
});

it("allows a burst, then only what the rate refills", () => {
  let now = 0;
  const { take } = createAllowance({ perSecond: 10, burst: 30 }, () => now);
  for (let taken = 0; taken < 30; taken += 1) expect(take(1)).toBe(true);
  expect(take(1)).toBe(false);
  now = 100;
  expect(take(1)).toBe(true);
  expect(take(1)).toBe(false);
  now = 60_000;
  expect(take(31)).toBe(false);
  expect(take(30)).toBe(true);
});
