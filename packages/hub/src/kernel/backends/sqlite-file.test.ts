import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { expect, it, onTestFinished, test } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import {
  allEvents,
  appendEvents,
  appendRequest,
  DAY,
  ids,
  START,
  sampleEvents,
} from "../../events/store/contract/sample.ts";
import { type Store, storeDefinition } from "../../store.ts";
import { openSqlite, type SqliteOptions } from "./sqlite.ts";
import { lockDatabase } from "./sqlite-file.ts";

const MIB = 1024 ** 2;
const newFile = () => join(tempFolder(), "hub.db");

function open(file: string, options?: SqliteOptions): Store {
  const store = openSqlite(storeDefinition, file, options);
  onTestFinished(() => store.close().catch(() => {}));
  return store;
}

/** Random bodies, which are not compressed. */
const events = (count: number, bytes: number) =>
  sampleEvents(count, () => ({ body: crypto.getRandomValues(new Uint8Array(bytes)) }));

async function append(store: Store, megabytes: number): Promise<void> {
  for (let at = 0; at < megabytes; at += 1)
    await store.appendEvents([appendRequest(events(16, 64 * 1024))], null);
}

async function removeAll(store: Store): Promise<void> {
  const retention = { now: START * 2, processedFor: DAY, pendingFor: DAY, maxBytes: 1e12 };
  while ((await store.sweep({ ...retention, limit: 500 })).hasMore);
}

/** A file of a former version: without `auto_vacuum`. */
async function createFormerFile(megabytes: number): Promise<string> {
  const file = newFile();
  const store = openSqlite(storeDefinition, file);
  await append(store, megabytes);
  await store.close();
  const db = new DatabaseSync(file);
  db.exec("PRAGMA auto_vacuum = NONE");
  db.exec("VACUUM");
  db.close();
  return file;
}

test("returns free pages in steps, and keeps a reserve for new events", async () => {
  const file = newFile();
  const store = open(file);
  await append(store, 40);
  await removeAll(store);
  const freeOf = async () => (await store.measureSize()).free ?? 0;
  const before = await freeOf();
  expect(before).toBeGreaterThan(38 * MIB);
  expect(store.file?.canShrink).toBe(true);
  expect(await store.file?.compact(10)).toBe(true);
  expect(before - (await freeOf())).toBe(10 * 8192);
  while (await store.file?.compact(500));
  const { used, free } = await store.measureSize();
  expect(free).toBe(16 * MIB);
  await store.file?.truncateWal();
  await store.file?.truncateWal();
  expect(statSync(file).size).toBe(used + (free ?? 0));
  expect((await store.measureSize()).disk).toBe(statSync(file).size);
  expect(statSync(file).size).toBeLessThan(20 * MIB);
  expect(await store.file?.compact(500)).toBe(false);
});

test("measures what the file and the WAL take on disk, also before a checkpoint", async () => {
  const file = newFile();
  const store = open(file);
  await append(store, 3);
  const { disk, used, wal } = await store.measureSize();
  expect(wal).toBe(statSync(`${file}-wal`).size);
  expect(wal).toBeGreaterThan(3 * MIB);
  expect(disk).toBe(statSync(file).size + Number(wal));
  expect(used).toBeGreaterThan(statSync(file).size);
  // The next checkpoint writes these pages to the file.
  store.file?.keepWalShort(true);
  await appendEvents(store, sampleEvents(1));
  const after = await store.measureSize();
  expect(after.disk).toBe(statSync(file).size + statSync(`${file}-wal`).size);
  expect(after.disk).toBeGreaterThan(disk);
});

test("truncates the WAL only if little was written since the last call", async () => {
  const store = open(newFile());
  const walOf = async () => (await store.measureSize()).wal;
  await store.file?.truncateWal();
  for (let at = 0; at < 301; at += 1) await store.checkWritable(at);
  await append(store, 1);
  await store.file?.truncateWal();
  expect(await walOf()).toBeGreaterThan(MIB);
  await appendEvents(store, sampleEvents(1));
  await store.file?.truncateWal();
  expect(await walOf()).toBe(0);
});

test("keeps the WAL short on request", async () => {
  const store = open(newFile());
  store.file?.keepWalShort(true);
  await append(store, 12);
  expect((await store.measureSize()).wal).toBeLessThan(5 * MIB);
  store.file?.keepWalShort(false);
  await append(store, 12);
  expect((await store.measureSize()).wal).toBeGreaterThan(8 * MIB);
});

test("converts a small file of a former version at the start of a hub, and keeps its events", async () => {
  const file = await createFormerFile(3);
  const former = openSqlite(storeDefinition, file);
  expect(former.file?.canShrink).toBe(false);
  expect(await former.file?.compact(500)).toBe(false);
  const before = ids(await allEvents(former));
  await former.close();
  const store = open(file, { vacuum: "former" });
  expect(store.file).toMatchObject({ canShrink: true, notConverted: undefined });
  expect(ids(await allEvents(store))).toEqual(before);
  expect((await store.measureSize()).wal).toBe(0);
});

test("does not convert a large file, except with `vacuum: always`", async () => {
  const file = await createFormerFile(130);
  const store = openSqlite(storeDefinition, file, { vacuum: "former" });
  expect(store.file).toMatchObject({
    canShrink: false,
    notConverted: expect.stringContaining("too much data"),
  });
  await removeAll(store);
  await store.close();
  const compacted = open(file, { vacuum: "always" });
  expect(compacted.file?.canShrink).toBe(true);
  expect(await compacted.measureSize()).toMatchObject({ free: 0, wal: 0 });
  expect(statSync(file).size).toBeLessThan(4 * MIB);
});

test("loses nothing if the process is killed while it converts the file", async () => {
  const file = await createFormerFile(40);
  const expected = await (async () => {
    const store = openSqlite(storeDefinition, file);
    const rows = await allEvents(store);
    await store.close();
    return rows;
  })();
  const sqlite = pathToFileURL(join(import.meta.dirname, "sqlite.ts"));
  const definition = pathToFileURL(join(import.meta.dirname, "../../store.ts"));
  let interrupted = 0;
  for (let copy = 0; copy < 5; copy += 1) {
    const copied = newFile();
    copyFileSync(file, copied);
    const child = spawn(process.execPath, [
      "--input-type=module",
      "-e",
      `import { openSqlite } from ${JSON.stringify(sqlite)};
       import { storeDefinition } from ${JSON.stringify(definition)};
       openSqlite(storeDefinition, process.argv[1], { vacuum: "always" });`,
      copied,
    ]);
    const exited = once(child, "exit");
    // VACUUM writes the new pages to the WAL.
    const isCopying = () =>
      existsSync(`${copied}-wal`) && statSync(`${copied}-wal`).size > (copy + 1) * 4 * MIB;
    while (!isCopying() && child.exitCode === null) await new Promise(setImmediate);
    child.kill("SIGKILL");
    await exited;
    const store = openSqlite(storeDefinition, copied);
    if (!store.file?.canShrink) interrupted += 1;
    expect(await allEvents(store)).toEqual(expected);
    await store.close();
    const db = new DatabaseSync(copied);
    expect(db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    db.close();
  }
  expect(interrupted).toBeGreaterThan(0);
});

it("locks a database until the lock is released, while others can still open the database", async () => {
  const folder = tempFolder();
  const file = join(folder, "hub.db");
  const release = lockDatabase(file);
  expect(release).toBeTypeOf("function");
  expect(lockDatabase(file)).toBeUndefined();
  const store = openSqlite(storeDefinition, file);
  await store.checkWritable(1);
  await store.close();
  expect(lockDatabase(file)).toBeUndefined();
  expect(readdirSync(folder).toSorted()).toEqual(["hub.db", "hub.db.lock"]);
  release?.();
  release?.();
  lockDatabase(file)?.();
});
