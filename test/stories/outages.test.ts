/** A hub whose database is unavailable, and a hub that starts with a wrong or missing key. */
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { expect, inject, it, onTestFinished, vi } from "vitest";
import { ADMIN, startApi } from "../support/api-client.ts";
import { deliver, SECRET } from "../support/deliver.ts";
import { startFreezableProxy } from "../support/freezable-proxy.ts";
import { runCli, startHubProcess } from "../support/hub-process.ts";
import { createDatabase, createMigratedDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { WAIT } from "../support/timeouts.ts";

async function connectToServer(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: inject("postgresUrl") });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

it("while PostgreSQL hangs, the hub responds with 503 to requests that need it, and logs the outage once", async () => {
  const proxy = await startFreezableProxy(await createMigratedDatabase(inject("postgresUrl")));
  // `DATABASE_URL` selects PostgreSQL, through the proxy.
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
  const durations: Record<string, number> = {};
  await Promise.all(
    requests.map(async ([name, send]) => {
      const started = performance.now();
      const response = await send();
      durations[name] = Math.round(performance.now() - started);
      expect([name, response.status]).toEqual([name, 503]);
      expect([name, response.headers.get("retry-after")]).toEqual([name, expect.any(String)]);
    }),
  );
  console.log("milliseconds until 503:", durations);
  // On an idle machine, it takes about two seconds.
  expect(Math.max(...Object.values(durations))).toBeLessThan(8_000);
  expect((await fetch(`${hub.url}/healthz`)).status).toBe(200);
  for (let count = 0; count < 20; count += 1) expect((await deliver(hub.url)).status).toBe(503);

  proxy.repair();
  await vi.waitFor(async () => expect((await deliver(hub.url)).status).toBe(202), WAIT);
  await vi.waitFor(async () => {
    await deliver(hub.url);
    expect(hub.output()).toContain("the database is available again");
  }, WAIT);
  expect(hub.output().match(/the database is unavailable/g)).toHaveLength(1);
  expect(hub.output()).not.toMatch(/secretKey|_connecting|"stack"/);
});

it("while PostgreSQL is read-only, the hub responds with 503 to writes, serves reads, and logs the outage once", async () => {
  const url = await createMigratedDatabase(inject("postgresUrl"));
  const admin = await connectToServer();
  const setReadOnly = async (value: "on" | "off") => {
    const name = new URL(url).pathname.slice(1);
    await admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`);
    // New connections have the setting.
    await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [
      name,
    ]);
  };
  const { hub } = await startApi("SQLite", { DATABASE_URL: url });
  const { id } = (await (await deliver(hub.url)).json()) as { id: string };
  await setReadOnly("on");

  const headers = { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" };
  const post = (path: string, body: object) => () =>
    fetch(`${hub.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  const writes: [string, () => Promise<Response>][] = [
    ["webhook", () => deliver(hub.url)],
    ["app", post("/api/apps", { slug: "news", name: "News" })],
    ["claim", post(`/api/events/${id}/claim`, { worker: "w", lease_s: 60 })],
    ["processed", post(`/api/events/${id}/processed`, {})],
    ["token", post("/api/tokens", { name: "t" })],
  ];
  // Each also finds a connection that has ended.
  await vi.waitFor(async () => expect((await deliver(hub.url)).status).toBe(503), WAIT);
  for (const [name, send] of writes) {
    const response = await send();
    expect([name, response.status]).toEqual([name, 503]);
    expect([name, response.headers.get("retry-after")]).toEqual([name, expect.any(String)]);
    const read = await fetch(`${hub.url}/pending-status`, { headers });
    expect(read.status).toBe(200);
  }
  expect((await fetch(`${hub.url}/readyz`)).status).toBe(503);

  await setReadOnly("off");
  await vi.waitFor(async () => {
    expect((await deliver(hub.url)).status).toBe(202);
    expect(hub.output()).toContain("the database is available again");
  }, WAIT);
  expect(hub.output().match(/the database is unavailable/g)).toHaveLength(1);
  expect(hub.output()).not.toMatch(/"stack"|unexpected error/);
});

it("a hub that starts while PostgreSQL has no free connection waits for one", async () => {
  const admin = await connectToServer();
  const url = new URL(await createDatabase(inject("postgresUrl")));
  url.username = `of_${url.pathname.slice(1)}`;
  // The migrations get the only connection; what follows them needs more than one.
  await admin.query(`CREATE ROLE ${url.username} LOGIN CONNECTION LIMIT 1`);
  await admin.query(`ALTER DATABASE ${url.pathname.slice(1)} OWNER TO ${url.username}`);
  const waiting = Promise.withResolvers<void>();
  const starting = startHubProcess({
    data: tempFolder(),
    env: { DATABASE_URL: url.href, GITHUB_WEBHOOK_SECRET: SECRET },
    onOutput(output) {
      if (
        /is unavailable: too many connections for role .*max_connections.*Waiting for up to 60 s/.test(
          output,
        )
      )
        waiting.resolve();
    },
  });
  await Promise.race([waiting.promise, starting]);
  await admin.query(`ALTER ROLE ${url.username} CONNECTION LIMIT 20`);
  const hub = await starting;
  onTestFinished(async () => void (await hub.stop()));
  await waiting.promise;
  expect((await deliver(hub.url)).status).toBe(202);
  expect(hub.output()).not.toMatch(/"stack"|^\s+at /m);
});

it.each([
  ["is down", "takeDown"],
  ["hangs", "freeze"],
] as const)(
  "a hub that starts while PostgreSQL %s waits for it, and then accepts webhooks",
  async (_, fault) => {
    const proxy = await startFreezableProxy(await createMigratedDatabase(inject("postgresUrl")));
    proxy[fault]();
    const starting = startApi("SQLite", { DATABASE_URL: proxy.url });
    await vi.waitFor(() => expect(proxy.attempts()).toBeGreaterThan(2), WAIT);
    proxy.repair();
    const { hub } = await starting;
    expect((await deliver(hub.url)).status).toBe(202);
    await vi.waitFor(() => {
      expect(hub.output()).toMatch(/is unavailable: .*Waiting for up to 60 s/);
      expect(hub.output()).toContain("the database is available");
    }, WAIT);
  },
);

it("the hub does not start if the key for the stored secrets is wrong or missing", async () => {
  const data = tempFolder();
  const env = { SIGNALBOX_DATA: data, PORT: "0" };
  expect((await runCli(["source", "add", "github"], { env })).code).toBe(0);
  const otherKey = randomBytes(32).toString("base64");
  const withWrongKey = await runCli(["serve"], { env: { ...env, SIGNALBOX_KEY: otherKey } });
  expect(withWrongKey.code).toBe(2);
  expect(withWrongKey.stderr).toMatch(
    /does not decrypt the secrets in its database.*SIGNALBOX_KEY/s,
  );
  rmSync(join(data, "key"));
  const withoutKey = await runCli(["serve"], { env });
  expect(withoutKey.code).toBe(2);
  expect(withoutKey.stderr).toMatch(/key is missing.*Restore the file from a backup/s);
});
