/** Databases that hubs of former commits made: the hub opens them, and nothing is lost. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { describe, expect, inject, test } from "vitest";
import { startApi } from "../support/api-client.ts";
import { deliver } from "../support/deliver.ts";
import { createDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";

const folder = join(import.meta.dirname, "../fixtures/former-databases");
const credentials: Record<string, { token: string; key: string }> = JSON.parse(
  readFileSync(join(folder, "credentials.json"), "utf8"),
);

/** Returns the settings of a hub on the dump. */
async function load(name: string): Promise<Record<string, string>> {
  const dump = readFileSync(join(folder, `${name}.sql`), "utf8");
  if (name.endsWith(".sqlite")) {
    const data = tempFolder();
    const db = new DatabaseSync(join(data, "signalbox.db"));
    db.exec(dump);
    db.close();
    return { SIGNALBOX_DATA: data };
  }
  const DATABASE_URL = await createDatabase(inject("postgresUrl"));
  const client = new pg.Client({ connectionString: DATABASE_URL });
  await client.connect();
  await client.query(dump);
  await client.end();
  return { DATABASE_URL };
}

const ISSUES: Record<string, number[]> = {
  "58fbffd6": [1, 2, 3, 4, 5],
  cd926100: [3, 4, 5],
  bc33d3db: [3, 4, 5],
};

describe.each(Object.entries(credentials))("%s", (name, { token, key }) => {
  const issues = ISSUES[name.split(".")[0] as string] as number[];
  test("lists its events with payloads and runs, runs its flows, and accepts its token", async () => {
    const api = await startApi("SQLite", { ...(await load(name)), SIGNALBOX_KEY: key });
    const call = async (method: string, path: string, body?: unknown) =>
      (await api.expect(200, method, path, body, { token })).json;

    const events = (await call("GET", "/api/events?order=oldest")).items;
    expect(events).toMatchObject(
      issues.map((number) => ({ title: `Issue ${number}`, number, processed: number === 5 })),
    );
    for (const { id, number } of events)
      expect((await call("GET", `/api/events/${id}`)).payload).toMatchObject({ issue: { number } });
    const outputs = [];
    for (const { id } of (await call("GET", "/api/runs")).items) {
      const { output, steps } = await call("GET", `/api/runs/${id}`);
      expect(steps).toContainEqual(expect.objectContaining({ node_id: "end", status: "done" }));
      outputs.push(output);
    }
    expect(outputs).toEqual([...[5, 4, 3].map((number) => ({ number })), { text: "Hello you!" }]);
    expect((await call("GET", "/api/secrets")).items).toMatchObject([{ name: "API_KEY" }]);

    const greeting = (await call("GET", "/api/flows")).items.find(
      (flow: { name: string }) => flow.name === "Greeting",
    );
    expect(
      await call("POST", `/api/flows/${greeting.id}/runs?wait=1`, {
        trigger: "say_hello",
        input: { who: "again" },
      }),
    ).toMatchObject({ status: "succeeded", output: { text: "Hello again!" } });
    expect((await deliver(api.hub.url)).status).toBe(202);
    const newest = async () => {
      const { id } = (await call("GET", "/api/runs")).items[0];
      return call("GET", `/api/runs/${id}`);
    };
    await expect.poll(newest).toMatchObject({ status: "succeeded", output: { number: 7 } });
  });
});

test.each(Object.entries(credentials).filter(([name]) => name.endsWith(".sqlite")))(
  "%s can shrink after its first start",
  async (name, { key }) => {
    const settings = await load(name);
    const db = new DatabaseSync(join(settings.SIGNALBOX_DATA ?? "", "signalbox.db"));
    expect(db.prepare("PRAGMA auto_vacuum").get()).toEqual({ auto_vacuum: 0 });
    db.close();
    const api = await startApi("SQLite", { ...settings, SIGNALBOX_KEY: key });
    const { json } = await api.expect(200, "GET", "/api/storage");
    expect(json).toMatchObject({ can_shrink: true });
  },
);
