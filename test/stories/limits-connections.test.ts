/** Floods from clients without a valid token, or with a read-only token. */
import { expect, it } from "vitest";
import { startApi } from "../support/api-client.ts";
import { floodWithPings, sendHalfBodies, sendUnknownTokens } from "../support/attacks/floods.ts";
import { deliver } from "../support/deliver.ts";
import { probeHealth, residentMegabytes } from "../support/health-probe.ts";

it("half-sent bodies do not exceed the memory budget, and small webhooks are accepted meanwhile", async () => {
  const { hub } = await startApi();
  const probe = probeHealth(hub, "half-sent bodies");
  const bodies = await sendHalfBodies(hub.url, 100);
  await expect.poll(bodies.received).toContain("too many large bodies");
  expect((await deliver(hub.url)).ok).toBe(true);
  bodies.close();
  // The hub releases the memory of closed connections, and accepts large bodies again.
  await expect
    .poll(async () => (await deliver(hub.url, { body: " ".repeat(1_000_000) })).status)
    .not.toBe(503);
  await expect.poll(() => residentMegabytes(hub.pid) ?? 0).toBeLessThan(300);
  await probe.expectHealthy({ maxMegabytes: 1_000 });
});

it("long unknown tokens are rejected, and do not fill the memory", async () => {
  const { hub } = await startApi();
  const probe = probeHealth(hub, "12,000 unknown tokens of 15 KB");
  for (let sent = 0; sent < 12_000; sent += 200)
    expect(new Set(await sendUnknownTokens(hub.url, 200))).toEqual(new Set([401]));
  await probe.expectHealthy({ maxMegabytes: 300 });
});

it("ten WebSocket clients that flood the hub with pings are disconnected", async () => {
  const api = await startApi();
  const token = await api.token("--scope", "inbox:read");
  const probe = probeHealth(api.hub, "ten sockets with empty pings");
  for (const received of await floodWithPings(api.hub.url, token, 10))
    expect(received).toContain("101 Switching");
  await probe.expectHealthy();
});
