import { expect, it } from "vitest";
import type { Access } from "../tenants/authorizer.ts";
import { letOut, outflowOf } from "./outflow.ts";

const HALF = 256 * 1024;
const newAccess = (): Access => ({ token: "t", name: "t", scopes: [], tenants: [] });

/** An answer as the SDK makes it: whatever is sent is kept until somebody reads it. */
function setup() {
  const access = newAccess();
  const outflow = outflowOf(access);
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
  const response = letOut(
    access,
    new Response(body, {
      status: 200,
      headers: { "content-type": "text/event-stream", "x-kept": "1" },
    }),
  );
  const enqueue = (text: string) => sdk?.enqueue(new TextEncoder().encode(text));
  const send = (bytes: number) => {
    outflow.sent(bytes);
    enqueue(`data: ${bytes}\n\n`);
  };
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  return {
    access,
    outflow,
    response,
    send,
    enqueue,
    reader,
    close: () => sdk?.close(),
    cancelled: () => cancelled,
  };
}

it("is full while too much waits to be read, and tells when there is room", async () => {
  const { outflow, send, enqueue, reader } = setup();
  let rooms = 0;
  outflow.onRoom(() => {
    rooms += 1;
  });
  send(HALF);
  expect(outflow.isFull()).toBe(false);
  enqueue(": keepalive\n\n");
  send(HALF);
  expect(outflow.isFull()).toBe(true);
  const { value } = await reader.read();
  expect(new TextDecoder().decode(value)).toBe(`data: ${HALF}\n\n`);
  expect([outflow.isFull(), rooms]).toEqual([false, 1]);
  send(HALF);
  expect(outflow.isFull()).toBe(true);
  await reader.read(); // a comment makes no room
  expect(outflow.isFull()).toBe(true);
  await reader.read();
  expect(outflow.isFull()).toBe(false);
});

it("passes everything on as it is, to its end", async () => {
  const { outflow, response, send, reader, close } = setup();
  const gone: string[] = [];
  outflow.onGone(() => gone.push("ended"));
  expect([response.status, response.headers.get("x-kept")]).toEqual([200, "1"]);
  send(1);
  close();
  expect((await reader.read()).done).toBe(false);
  expect((await reader.read()).done).toBe(true);
  outflow.onGone(() => gone.push("told late"));
  expect(gone).toEqual(["ended", "told late"]);
});

it("tells when the client goes, and can send it away", async () => {
  const left = setup();
  let gone = 0;
  left.outflow.onGone(() => {
    gone += 1;
  });
  await left.reader.cancel();
  expect([gone, left.cancelled()]).toEqual([1, true]);

  const sent = setup();
  sent.send(1);
  sent.outflow.hangUp();
  sent.outflow.hangUp();
  await expect(sent.reader.read()).rejects.toThrow("does not read");
  expect(sent.cancelled()).toBe(true);
});

it("belongs to one request, and leaves answers alone that are no streams", () => {
  const access = newAccess();
  expect(outflowOf(access)).toBe(outflowOf(access));
  expect(outflowOf(newAccess())).not.toBe(outflowOf(access));
  const plain = Response.json({});
  expect(letOut(access, plain)).toBe(plain);
});
