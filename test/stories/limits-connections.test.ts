/** Floods that need no token, or one that can only read: unfinished bodies, tokens and WebSocket frames. */
import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { startApi } from "../support/api-client.ts";
import { deliver } from "../support/deliver.ts";
import { probeHealth, residentMegabytes } from "../support/health-probe.ts";

const open = (url: string): Socket => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
};

it("half-sent bodies stay within the budget, and small webhooks are accepted meanwhile", async () => {
  const { hub } = await startApi();
  const probe = probeHealth(hub, "half-sent bodies");
  const half = Buffer.alloc(12_000_000, 0x20);
  const head = `POST /webhooks/github HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nx-github-event: push\r\nx-github-delivery: x\r\nx-hub-signature-256: sha256=${"0".repeat(64)}\r\ncontent-length: 24000000\r\n\r\n`;
  let answers = "";
  const sockets = Array.from({ length: 100 }, () => {
    const socket = open(hub.url);
    socket.on("data", (chunk) => {
      answers += chunk;
    });
    socket.write(head);
    return socket;
  });
  // In pieces, so that all bodies arrive together.
  for (let at = 0; at < half.length; at += 1_000_000) {
    for (const socket of sockets)
      if (!socket.destroyed) socket.write(half.subarray(at, at + 1_000_000));
    await sleep(50);
  }
  await expect.poll(() => answers).toContain("too many large bodies");
  expect((await deliver(hub.url)).ok).toBe(true);
  for (const socket of sockets) socket.destroy();
  await expect
    .poll(async () => (await deliver(hub.url, { body: " ".repeat(1_000_000) })).status)
    .not.toBe(503);
  await expect.poll(() => residentMegabytes(hub.pid) ?? 0).toBeLessThan(300);
  await probe.expectHealthy({ maxMegabytes: 1_000 });
});

it("long unknown tokens fill no cache", async () => {
  const { hub } = await startApi();
  const probe = probeHealth(hub, "12,000 unknown tokens of 15 KB");
  const agent = new Agent({ keepAlive: true, maxSockets: 20 });
  onTestFinished(() => agent.destroy());
  const send = (at: number) =>
    new Promise<number | undefined>((resolve, reject) => {
      const authorization = `Bearer ${String(at).padStart(15_000, "x")}`;
      request(`${hub.url}/pending-status`, { agent, headers: { authorization } }, (response) => {
        response.resume().on("end", () => resolve(response.statusCode));
      })
        .on("error", reject)
        .end();
    });
  for (let at = 0; at < 12_000; at += 200)
    for (const status of await Promise.all(Array.from({ length: 200 }, (_, nth) => send(at + nth))))
      expect(status).toBe(401);
  await probe.expectHealthy({ maxMegabytes: 300 });
});

it("ten WebSocket clients that flood the hub with pings are disconnected", async () => {
  const api = await startApi();
  const token = await api.token("--scope", "inbox:read");
  const probe = probeHealth(api.hub, "ten sockets with empty pings");
  const flood = Buffer.concat(Array(100_000).fill(Buffer.from([0x89, 0x80, 0, 0, 0, 0])));
  const closed = Array.from({ length: 10 }, async () => {
    const socket = open(api.hub.url);
    socket.write(
      `GET /events HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${"A".repeat(22)}==\r\n\r\n`,
    );
    let received = "";
    const ended = new Promise((resolve) => socket.once("close", resolve));
    socket.setEncoding("latin1").on("data", (text: string) => {
      if (received === "") for (let round = 0; round < 20; round += 1) socket.write(flood);
      received += text;
    });
    await ended;
    return received;
  });
  for (const received of await Promise.all(closed)) expect(received).toContain("101 Switching");
  await probe.expectHealthy();
});
