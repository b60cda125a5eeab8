/** A hub whose database hangs, and hubs whose key does not decrypt the stored secrets. */
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it, vi } from "vitest";
import { ADMIN, startApi } from "../support/api-client.ts";
import { deliver } from "../support/deliver.ts";
import { startFreezableProxy } from "../support/freezable-proxy.ts";
import { runCli } from "../support/hub-process.ts";
import { createMigratedDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { WAIT } from "../support/timeouts.ts";

it("responds with 503 to every request while PostgreSQL hangs, and logs it once", async () => {
  const proxy = await startFreezableProxy(await createMigratedDatabase(inject("postgresUrl")));
  const { hub } = await startApi("SQLite", { DATABASE_URL: proxy.url });
  expect((await deliver(hub.url)).status).toBe(202);
  proxy.freeze();

  const headers = { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" };
  const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
  const requests: [string, () => Promise<Response>][] = [
    ["webhook", () => deliver(hub.url)],
    ["/pending-status", () => fetch(`${hub.url}/pending-status`, { headers })],
    ["/api/apps", () => fetch(`${hub.url}/api/apps`, { headers })],
    ["/events", () => fetch(`${hub.url}/events`, { headers })],
    ["/mcp", () => fetch(`${hub.url}/mcp`, { method: "POST", headers, body: message })],
    ["/readyz", () => fetch(`${hub.url}/readyz`)],
  ];
  const took: Record<string, number> = {};
  await Promise.all(
    requests.map(async ([name, send]) => {
      const started = performance.now();
      const response = await send();
      took[name] = Math.round(performance.now() - started);
      expect([name, response.status]).toEqual([name, 503]);
      expect([name, response.headers.get("retry-after")]).toEqual([name, expect.any(String)]);
    }),
  );
  console.log("milliseconds until 503:", took);
  // About two seconds on a machine that is not busy.
  expect(Math.max(...Object.values(took))).toBeLessThan(8_000);
  expect((await fetch(`${hub.url}/healthz`)).status).toBe(200);
  for (let nth = 0; nth < 20; nth += 1) expect((await deliver(hub.url)).status).toBe(503);

  proxy.repair();
  await vi.waitFor(async () => expect((await deliver(hub.url)).status).toBe(202), WAIT);
  await vi.waitFor(async () => {
    await deliver(hub.url);
    expect(hub.output()).toContain("the database is available again");
  }, WAIT);
  expect(hub.output().match(/the database is unavailable/g)).toHaveLength(1);
  expect(hub.output()).not.toMatch(/secretKey|_connecting|"stack"/);
});

it.each(["takeDown", "freeze"] as const)(
  "waits for PostgreSQL at its start (%s), and then serves",
  async (fault) => {
    const proxy = await startFreezableProxy(await createMigratedDatabase(inject("postgresUrl")));
    proxy[fault]();
    const starting = startApi("SQLite", { DATABASE_URL: proxy.url });
    await vi.waitFor(() => expect(proxy.attempts()).toBeGreaterThan(2), WAIT);
    proxy.repair();
    const { hub } = await starting;
    expect((await deliver(hub.url)).status).toBe(202);
    expect(hub.output()).toMatch(/is unavailable: .*Waiting for up to 60 s/);
    expect(hub.output()).toContain("the database is available");
  },
);

it("does not start with a key that does not decrypt the stored secrets", async () => {
  const data = tempFolder();
  const env = { SIGNALBOX_DATA: data, PORT: "0" };
  expect((await runCli(["source", "add", "github"], { env })).code).toBe(0);
  const wrong = { ...env, SIGNALBOX_KEY: randomBytes(32).toString("base64") };
  const refused = await runCli(["serve"], { env: wrong });
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(/does not decrypt the secrets in its database.*SIGNALBOX_KEY/s);
  rmSync(join(data, "key"));
  const missing = await runCli(["serve"], { env });
  expect(missing.code).toBe(2);
  expect(missing.stderr).toMatch(/key is missing.*Restore the file from a backup/s);
});
