import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import type { Context } from "hono";
import { expect, it, onTestFinished, vi } from "vitest";
import { createByteReservations } from "./byte-budgets.ts";

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
