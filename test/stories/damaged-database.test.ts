/** A SQLite database that is lost or damaged on the disk: the hub reports it, with what to do. */
import { execFile } from "node:child_process";
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { deliver, SECRET } from "../support/deliver.ts";
import { CLI, runCli, startHubProcess } from "../support/hub-process.ts";
import { tempFolder } from "../support/temp-folder.ts";

const TOKEN = "sbx_damaged_database_story_0123";
const env = { GITHUB_WEBHOOK_SECRET: SECRET, SIGNALBOX_TOKEN: TOKEN };

async function start(data: string) {
  const hub = await startHubProcess({ data, env });
  onTestFinished(async () => void (await hub.stop()));
  const read = (path: string) =>
    fetch(`${hub.url}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } });
  return { ...hub, read };
}

/** Starts a hub that must not start, and returns its output. */
async function refusedStart(data: string): Promise<string> {
  const { message } = await startHubProcess({ data, env }).then(
    async (hub) => {
      await hub.stop();
      throw new Error("the hub has started");
    },
    (error: Error) => error,
  );
  expect(message).toMatch(/the hub ended \([12]\)/);
  expect(message).not.toMatch(/^ +at /m);
  return message;
}

/** A stopped hub with one event. */
async function setUp() {
  const data = tempFolder();
  const hub = await start(data);
  expect((await deliver(hub.url)).status).toBe(202);
  expect(await hub.stop()).toBe(0);
  return { data, file: join(data, "signalbox.db") };
}

/** Overwrites the root page of a table, as a failing disk does. */
function damage(file: string, table: string): void {
  const db = new DatabaseSync(file, { readOnly: true });
  const { page_size } = db.prepare("PRAGMA page_size").get() as { page_size: number };
  const { rootpage } = db
    .prepare("SELECT rootpage FROM sqlite_master WHERE name = ?")
    .get(table) as { rootpage: number };
  db.close();
  const handle = openSync(file, "r+");
  writeSync(handle, Buffer.alloc(page_size, 0xff), 0, page_size, (rootpage - 1) * page_size);
  closeSync(handle);
}

describe("a lost database", () => {
  it.each([
    ["empty", (file: string) => truncateSync(file)],
    ["missing", (file: string) => rmSync(file)],
  ])(
    "is not replaced if its file is %s, until the operator deletes the marker",
    async (_, lose) => {
      const { data, file } = await setUp();
      lose(file);
      const marker = join(data, "database");
      const problem = `${file} is missing or empty, but ${marker} shows that a hub has stored data in it. Restore it from a backup (docs/deploy.md)`;
      expect(await refusedStart(data)).toContain(problem);
      expect(await refusedStart(data)).toContain(
        `To start with an empty database, delete ${marker}.`,
      );
      const command = promisify(execFile)(
        process.execPath,
        [CLI, "token", "list", "--data", data],
        {
          env: { PATH: process.env.PATH },
        },
      );
      await expect(command).rejects.toMatchObject({ stderr: expect.stringContaining(problem) });
      rmSync(marker);
      const hub = await start(data);
      expect(await (await hub.read("/api/events")).json()).toMatchObject({ items: [] });
    },
  );

  it("is not replaced if only its write-ahead log is missing", async () => {
    const { data, file } = await setUp();
    // What a killed hub whose log was not checkpointed yet leaves behind, if the file is copied without the log.
    rmSync(file);
    const db = new DatabaseSync(file);
    db.exec("PRAGMA journal_mode = WAL");
    db.close();
    const content = readFileSync(file);
    expect(content.length).toBeGreaterThan(0);
    expect(await refusedStart(data)).toContain(`${file} is missing or empty, but`);
    expect(readFileSync(file)).toEqual(content);
  });

  it("is not replaced if the hub had another database meanwhile", async () => {
    const { data, file } = await setUp();
    const other = await startHubProcess({
      data,
      env: { ...env, DATABASE_URL: `sqlite:${join(data, "other.db")}` },
    });
    await other.stop();
    rmSync(file);
    expect(await refusedStart(data)).toContain(`${file} is missing or empty, but`);
  });

  it("is not assumed for the empty file of a hub that was killed at its first start", async () => {
    const { data, file } = await setUp();
    // What such a hub leaves behind.
    truncateSync(file);
    rmSync(join(data, "database"));
    expect(readdirSync(data)).toContain("key");
    await start(data);
    expect(readFileSync(join(data, "database"), "utf8")).toBe("signalbox.db\n");
  });
});

describe("a damaged database", () => {
  it("makes the requests that read the damaged part get 503, and logs it once, without a stack", async () => {
    const { data, file } = await setUp();
    damage(file, "packs");
    const hub = await start(data);
    const [event] = ((await (await hub.read("/api/events")).json()) as { items: { id: string }[] })
      .items;
    for (let count = 0; count < 5; count += 1) {
      const response = await hub.read(`/api/events/${event?.id}`);
      expect([response.status, await response.json()]).toEqual([
        503,
        expect.objectContaining({
          code: "storage_unavailable",
          detail: expect.stringMatching(/^The database is damaged, .* The operator must restore/),
        }),
      ]);
      expect((await deliver(hub.url)).status).toBe(503);
    }
    await hub.stop();
    const lines = hub
      .output()
      .split("\n")
      .filter((line) => line.includes("the database is damaged"));
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] as string).reason).toBe(
      `${file} is damaged, or not a SQLite database (database disk image is malformed, SQLITE_CORRUPT). Stop the hub, and restore the file from a backup (docs/deploy.md).`,
    );
    expect(hub.output()).not.toContain('"stack"');
  });

  it.each(["schema_version", "tokens"])(
    "does not open if the table %s is damaged, and the error has the fix",
    async (table) => {
      const { data, file } = await setUp();
      damage(file, table);
      expect(await refusedStart(data)).toContain(`${file} is damaged, or not a SQLite database (`);
    },
  );

  it("does not open if its beginning is damaged", async () => {
    const { data, file } = await setUp();
    const handle = openSync(file, "r+");
    writeSync(handle, Buffer.alloc(100, 0xff), 0, 100, 0);
    closeSync(handle);
    const problem = /is damaged, or not a SQLite database \(.*SQLITE_NOTADB/;
    expect(await refusedStart(data)).toMatch(problem);
    const doctor = await runCli(["doctor", "--data", data]);
    expect(doctor.stdout).toMatch(new RegExp(`✗ database +.* ${problem.source}`));
  });
});
