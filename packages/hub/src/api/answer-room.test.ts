import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import type { Context } from "hono";
import { expect, it, onTestFinished } from "vitest";
import { createAnswerRoom } from "./answer-room.ts";

const contextOf = (outgoing: ServerResponse) => ({ env: { outgoing } }) as unknown as Context;
const MOST = 32 * 1024 * 1024;

/** A client that has asked; answers with the hub's end of it. */
async function ask() {
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

it("is given back by a client that leaves, also by one that left before anything was held", async () => {
  const room = createAnswerRoom();
  const [early, late, next] = [await ask(), await ask(), await ask()];
  early.client.destroy();
  await once(early.response, "close");
  await room(contextOf(early.response), "token")(MOST);
  // Would wait for long if the one who has left still held all of it.
  await room(contextOf(late.response), "token")(MOST);
  let entered = false;
  const entering = room(
    contextOf(next.response),
    "token",
  )(MOST).then(() => {
    entered = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(entered).toBe(false);
  late.client.destroy();
  await entering;
});
