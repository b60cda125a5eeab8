import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import type { Context } from "hono";
import { expect, it, onTestFinished, vi } from "vitest";
import { createByteReservations, createResponseBudget } from "./byte-budgets.ts";

const settle = () => new Promise((resolve) => setImmediate(resolve));

function reserve(budget: ReturnType<typeof createResponseBudget>, token: string, bytes: number) {
  const sent = Promise.withResolvers<void>();
  const reserved = vi.fn();
  const rejected = vi.fn();
  void budget(token, bytes, sent.promise).then(reserved, rejected);
  return { send: sent.resolve, reserved, rejected };
}

it("reserves bytes for each token up to the limit, and further bytes when a response has been sent", async () => {
  const budget = createResponseBudget({ bytesPerToken: 100, waitMs: 60_000 });
  const [first, second, third] = [60, 60, 60].map((bytes) => reserve(budget, "a", bytes));
  const other = reserve(budget, "b", 60);
  await settle();
  expect(first?.reserved).toHaveBeenCalled();
  expect(other.reserved).toHaveBeenCalled();
  expect(second?.reserved).not.toHaveBeenCalled();
  first?.send();
  await settle();
  expect(second?.reserved).toHaveBeenCalled();
  expect(third?.reserved).not.toHaveBeenCalled();
  second?.send();
  await settle();
  expect(third?.reserved).toHaveBeenCalled();
});

it("reserves more than the limit for the only response of a token", async () => {
  const budget = createResponseBudget({ bytesPerToken: 100, waitMs: 60_000 });
  const large = reserve(budget, "a", 1_000);
  const small = reserve(budget, "a", 1);
  await settle();
  expect(large.reserved).toHaveBeenCalled();
  expect(small.reserved).not.toHaveBeenCalled();
});

it("rejects a request after `waitMs` or when its client disconnects, and reserves nothing", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const budget = createResponseBudget({ bytesPerToken: 100, waitMs: 5_000 });
    const first = reserve(budget, "a", 100);
    const disconnected = reserve(budget, "a", 100);
    const late = reserve(budget, "a", 100);
    disconnected.send();
    await settle();
    const busy = expect.objectContaining({ code: "busy" });
    expect(disconnected.rejected).toHaveBeenCalledWith(busy);
    expect(late.rejected).not.toHaveBeenCalled();
    vi.advanceTimersByTime(5_000);
    await settle();
    expect(late.rejected).toHaveBeenCalledWith(busy);
    first.send();
    await settle();
    const next = reserve(budget, "a", 100);
    await settle();
    expect(next.reserved).toHaveBeenCalled();
  } finally {
    vi.useRealTimers();
  }
});

const nextTick = () => new Promise((resolve) => setImmediate(resolve));

const contextOf = (outgoing: ServerResponse) => ({ env: { outgoing } }) as unknown as Context;
/** The limit of one token. */
const ALL_BYTES = 32 * 1024 * 1024;

/** Connects a client that sends a request. Returns the client, and the server's response object. */
async function connectClient() {
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  client.write("GET / HTTP/1.1\r\nHost: hub\r\n\r\n");
  const [, response] = (await once(server, "request")) as [unknown, ServerResponse];
  return { client, response };
}

it("releases the bytes of a client that disconnects before or after they are reserved", async () => {
  const reservations = createByteReservations();
  const [early, late, next] = [await connectClient(), await connectClient(), await connectClient()];
  early.client.destroy();
  await once(early.response, "close");
  await reservations(contextOf(early.response), "token")(ALL_BYTES);
  // This call would time out if the bytes of the disconnected client were still reserved.
  await reservations(contextOf(late.response), "token")(ALL_BYTES);
  const onReserved = vi.fn();
  const waiting = reservations(contextOf(next.response), "token")(ALL_BYTES).then(onReserved);
  await nextTick();
  expect(onReserved).not.toHaveBeenCalled();
  late.client.destroy();
  await waiting;
});
