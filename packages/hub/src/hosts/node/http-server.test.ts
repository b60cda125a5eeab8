import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { openHttpServer } from "./http-server.ts";

async function open(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = await openHttpServer({
    host: "127.0.0.1",
    port: 0,
    requestTimeoutMs: 10_000,
    lingerMs: 100,
    handle,
    isUpgradable: () => false,
    upgrade: () => {},
    onRejected: () => {},
  });
  onTestFinished(() => server.close(0));
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const sendRequests = (count: number) =>
    socket.write("GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".repeat(count));
  return { socket, sendRequests };
}

it("emits close once on each pipelined response when the client disconnects", async () => {
  const allReceived = Promise.withResolvers<void>();
  const closed: number[] = [];
  let received = 0;
  const { socket, sendRequests } = await open((_, response) => {
    const index = received++;
    response.on("close", () => closed.push(index));
    if (received === 20) allReceived.resolve();
  });
  sendRequests(20);
  await allReceived.promise;
  socket.destroy();
  await expect.poll(() => closed.toSorted((a, b) => a - b)).toEqual([...Array(20).keys()]);
});

it("emits no second close on a pipelined response that was sent", async () => {
  const responses: ServerResponse[] = [];
  const closed: number[] = [];
  const { socket, sendRequests } = await open((_, response) => {
    const index = responses.push(response) - 1;
    response.on("close", () => closed.push(index));
    // The second response is ready before the first.
    if (index === 1) for (const pipelined of responses.toReversed()) pipelined.end();
  });
  socket.resume();
  sendRequests(2);
  await expect.poll(() => closed).toEqual([0, 1]);
  socket.destroy();
  await once(socket, "close");
  expect(closed).toEqual([0, 1]);
});
