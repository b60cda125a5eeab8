import { expect, it, vi } from "vitest";
import type { Access } from "../access/authorizer.ts";
import { backPressureOf, trackUnreadBytes } from "./back-pressure.ts";

const HALF = 256 * 1024;
const newAccess = (): Access => ({ token: "t", name: "t", scopes: [], tenants: [] });

/** Tracks a response like those of the SDK, which buffers messages until they are read. */
function setup() {
  const access = newAccess();
  const backPressure = backPressureOf(access);
  let sdk: ReadableStreamDefaultController<Uint8Array> | undefined;
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      sdk = controller;
    },
    cancel() {
      cancelled = true;
    },
  });
  const response = trackUnreadBytes(
    access,
    new Response(body, {
      status: 200,
      headers: { "content-type": "text/event-stream", "x-kept": "1" },
    }),
  );
  const enqueue = (text: string) => sdk?.enqueue(new TextEncoder().encode(text));
  const send = (bytes: number) => {
    backPressure.addUnread(bytes);
    enqueue(`data: ${bytes}\n\n`);
  };
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  return {
    backPressure,
    response,
    send,
    enqueue,
    reader,
    close: () => sdk?.close(),
    cancelled: () => cancelled,
  };
}

it("is full while too many bytes are unread, and calls onDrain after each read below the limit", async () => {
  const { backPressure, send, enqueue, reader } = setup();
  const drained = vi.fn();
  backPressure.onDrain(drained);
  send(HALF);
  expect(backPressure.isFull()).toBe(false);
  enqueue(": keepalive\n\n");
  send(HALF);
  expect(backPressure.isFull()).toBe(true);
  const { value } = await reader.read();
  expect(new TextDecoder().decode(value)).toBe(`data: ${HALF}\n\n`);
  expect([backPressure.isFull(), drained.mock.calls.length]).toEqual([false, 1]);
  send(HALF);
  expect(backPressure.isFull()).toBe(true);
  await reader.read(); // a comment does not count
  expect(backPressure.isFull()).toBe(true);
  await reader.read();
  expect(backPressure.isFull()).toBe(false);
});

it("passes the response through unchanged, and reports its end", async () => {
  const { backPressure, response, send, reader, close } = setup();
  const closed: string[] = [];
  backPressure.onClose(() => closed.push("early"));
  expect([response.status, response.headers.get("x-kept")]).toEqual([200, "1"]);
  send(1);
  close();
  expect((await reader.read()).done).toBe(false);
  expect((await reader.read()).done).toBe(true);
  backPressure.onClose(() => closed.push("late"));
  expect(closed).toEqual(["early", "late"]);
});

it("reports when the client disconnects", async () => {
  const { backPressure, reader, cancelled } = setup();
  const closed = vi.fn();
  backPressure.onClose(closed);
  await reader.cancel();
  expect([closed.mock.calls.length, cancelled()]).toEqual([1, true]);
});

it("aborts a response that the client does not read", async () => {
  const { backPressure, send, reader, cancelled } = setup();
  send(1);
  backPressure.abort();
  backPressure.abort();
  await expect(reader.read()).rejects.toThrow("does not read");
  expect(cancelled()).toBe(true);
});

it("is the same for one access, and does not wrap responses that are not streams", () => {
  const access = newAccess();
  expect(backPressureOf(access)).toBe(backPressureOf(access));
  expect(backPressureOf(newAccess())).not.toBe(backPressureOf(access));
  const plain = Response.json({});
  expect(trackUnreadBytes(access, plain)).toBe(plain);
});
