/**
 * On Cloudflare, the data of a tenant is in several Durable Objects, and an earlier Worker may have stored
 * some of it.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { ADMIN, startApi } from "../support/api-client.ts";
import { deliver } from "../support/deliver.ts";
import { connectSdk2 } from "../support/events-client.ts";
import { fixedPort } from "../support/fixed-port.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { startReceiver } from "../support/webhook-receiver.ts";
import { startWorkerProcess } from "../support/worker-process.ts";

const EARLIER = fileURLToPath(new URL("../support/earlier-worker.mjs", import.meta.url));

const markerOf = (tenant: number) => `town-of-${tenant}`;
const payloadOf = (tenant: number) =>
  JSON.stringify({ action: "opened", repository: { full_name: `${markerOf(tenant)}/x` } });

/** Creates Durable Objects with the data that an earlier Worker would have stored for these tenants. */
async function runEarlierWorker(data: string, tenants: readonly number[]): Promise<void> {
  const worker = await startWorkerProcess({ data, modules: [EARLIER] });
  const installations = [
    "CREATE TABLE installations (installation_id INTEGER PRIMARY KEY, account_id INTEGER NOT NULL, account_login TEXT NOT NULL, account_type TEXT NOT NULL, created_at TEXT NOT NULL)",
    "CREATE INDEX idx_installations_account ON installations (account_id)",
    "CREATE TABLE settings (name TEXT)",
    ...tenants.map(
      (id) =>
        `INSERT INTO installations VALUES (${id}, ${id}, '${markerOf(id)}', 'User', '2026-03-31T00:00:00Z')`,
    ),
  ];
  const objects = tenants.flatMap((id) => [
    [
      "WEBHOOK_STORE",
      `store-${id}`,
      [
        "CREATE TABLE events (id TEXT PRIMARY KEY, type TEXT, payload TEXT, received_at TEXT, processed INTEGER)",
        "CREATE TABLE notes (text TEXT)",
        `INSERT INTO events VALUES ('earlier-${id}', 'issues', '${payloadOf(id)}', '2026-11-01T00:00:00Z', 0)`,
        `INSERT INTO notes VALUES ('${markerOf(id)}')`,
      ],
    ],
    [
      "WEBHOOK_MCP_AGENT",
      `tenant-${id}`,
      ["CREATE TABLE state (text TEXT)", `INSERT INTO state VALUES ('${markerOf(id)}')`],
    ],
  ]);
  const body = JSON.stringify([["TENANT_REGISTRY", "global", installations], ...objects]);
  expect((await fetch(worker.url, { method: "POST", body })).status).toBe(200);
  await worker.stop();
}

/** Returns the rows of all objects that contain one of the texts, as `table: row`. */
function findRows(data: string, texts: readonly string[]): string[] {
  const folder = join(data, "objects");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return files
    .filter((name) => /[0-9a-f]{64}\.sqlite$/.test(name))
    .flatMap((name) => {
      const database = new DatabaseSync(join(folder, name));
      try {
        // The names of workerd's own tables begin with `_cf_`.
        const tables = database.prepare(
          "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf_*'",
        );
        return tables
          .all()
          .flatMap(({ name: table }) =>
            database
              .prepare(`SELECT * FROM "${table}"`)
              .all()
              .map((row) => `${table}: ${JSON.stringify(row)}`),
          )
          .filter((row) => texts.some((text) => row.includes(text)));
      } finally {
        database.close();
      }
    });
}

it("the export and the deletion of a tenant include the data of an earlier Worker and of subscriptions", async () => {
  const data = tempFolder();
  await runEarlierWorker(data, [7, 8]);
  const api = await startApi("workerd", {
    SIGNALBOX_DATA: data,
    SIGNALBOX_TENANCY: "github",
    SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1",
    PORT: await fixedPort(),
  });
  for (const id of [7, 8]) {
    // Only the map of the earlier registry has the account of this installation.
    const body = JSON.stringify({ ...JSON.parse(payloadOf(id)), installation: { id } });
    const sent = await deliver(api.hub.url, { id: `new-${id}`, body, type: "issues" });
    expect(sent.status, await sent.text()).toBe(202);
  }
  const receiver = await startReceiver();
  const subscribe = async (token: string, path: string, query = "") => {
    const { request } = await connectSdk2(api.hub, token, query);
    const url = `${receiver.url}/${path}`;
    const delivery = { mode: "webhook", url, secret: receiver.secret };
    await request("events/subscribe", { name: "github.issues", delivery });
  };
  // The first subscription is stored in an agent object, because its token has several tenants. The others
  // are stored in the object of the tenant.
  await subscribe(await api.token("--tenant", "7,8"), "agent-of-7");
  await subscribe(await api.token("--tenant", "7"), "store-of-7");
  await subscribe(ADMIN, "admin-of-7", "?tenant=7");
  await subscribe(ADMIN, "admin-of-8", "?tenant=8");

  const { text } = await api.expect(200, "GET", "/api/tenants/7/export");
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.find(({ id }) => id === "earlier-7")).toMatchObject({
    kind: "event",
    repo: `${markerOf(7)}/x`,
    body: payloadOf(7),
  });
  expect(lines.filter(({ kind }) => kind === "subscription")).toHaveLength(2);

  await api.expect(202, "DELETE", "/api/tenants/7");
  const readStatus = async () => (await api.call("GET", "/api/tenants/7")).status;
  await expect.poll(readStatus).toBe(404);
  // The agent object ends the subscription of the token that has lost one of its tenants.
  await expect.poll(() => receiver.events()).toContain("terminated");
  await api.hub.stop();
  expect(findRows(data, [markerOf(7), "-of-7"])).toEqual([]);
  expect(findRows(data, [markerOf(8)]).map((row) => row.split(":")[0])).toEqual(
    expect.arrayContaining([
      "migrated_installations",
      "installations",
      "migrated_events",
      "earlier_notes",
      "state",
      "events",
    ]),
  );
  expect(findRows(data, ["admin-of-8"])).toHaveLength(2);
});
