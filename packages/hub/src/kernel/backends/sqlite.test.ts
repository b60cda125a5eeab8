import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { pathToFileURL } from "node:url";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  allEvents,
  appendEvents,
  appendRequest,
  itemAt,
  sampleEvent,
  seqsOf,
} from "../../events/store/contract/sample.ts";
import { LEGACY_FLOWS } from "../../flows/store/contract/legacy-sample.ts";
import { storeContract } from "../../store.contract.ts";
import { storeDefinition } from "../../store.ts";
import type { Notice, Row } from "../store/sql.ts";
import type { WorkerRequest, WorkerResult } from "./sqlite.test-worker.ts";
import { openSqlite } from "./sqlite.ts";
import { connect, retryWhileBusy } from "./sqlite-file.ts";

let folder: string;
let files = 0;
const newFile = () => join(folder, `${++files}`, "hub.db");

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "signalbox-store-"));
});

afterAll(() => rm(folder, { recursive: true }));

storeContract("SQLite", async () => {
  let file = newFile();
  const stores = [openSqlite(storeDefinition, file)];
  const notices: Notice[] = [];
  stores[0]?.subscribe((notice) => notices.push(notice));
  const reopen = async () => {
    stores.push(openSqlite(storeDefinition, file));
    return itemAt(stores, -1);
  };
  return {
    store: itemAt(stores, 0),
    notices: async () => notices,
    reopen,
    async reopenOn(statements) {
      file = newFile();
      const db = connect(file);
      db.exec(statements);
      db.close();
      return reopen();
    },
    async sql(query) {
      const db = new Database(file);
      try {
        return db.prepare<[], Row>(query).all();
      } finally {
        db.close();
      }
    },
    async close() {
      for (const store of stores) await store.close();
    },
  };
});

describe("a SQLite file", () => {
  test("uses WAL, and an fsync for every commit", () => {
    const db = connect(newFile());
    expect(db.pragma("journal_mode", { simple: true })).toBe("wal");
    expect(db.pragma("synchronous", { simple: true })).toBe(2); // FULL
    expect(db.pragma("page_size", { simple: true })).toBe(8192);
    // Waiting inside SQLite blocks the whole process.
    expect(db.pragma("busy_timeout", { simple: true })).toBeLessThanOrEqual(50);
    db.close();
  });

  test("is created in a folder that only its owner can read", async () => {
    const file = newFile();
    await openSqlite(storeDefinition, file).close();
    expect((await stat(join(file, ".."))).mode & 0o777).toBe(0o700);
  });

  test("is accessible only to its owner, like its WAL files, even in a public folder", async () => {
    const file = newFile();
    await mkdir(dirname(file), { mode: 0o755, recursive: true });
    const modes = async () =>
      Promise.all(
        ["", "-wal", "-shm"].map(async (end) => (await stat(`${file}${end}`)).mode & 0o777),
      );
    const first = openSqlite(storeDefinition, file);
    await appendEvents(first, [sampleEvent()]);
    expect(await modes()).toEqual([0o600, 0o600, 0o600]);
    // An earlier version created the files with this mode.
    for (const end of ["", "-wal", "-shm"]) await chmod(`${file}${end}`, 0o644);
    const second = openSqlite(storeDefinition, file);
    expect(await modes()).toEqual([0o600, 0o600, 0o600]);
    await first.close();
    await second.close();
  });

  test("is closed if the hub refuses it", async () => {
    const file = newFile();
    await openSqlite(storeDefinition, file).close();
    const db = new Database(file);
    const { version } = db.prepare("SELECT version FROM schema_version").get() as {
      version: number;
    };
    db.exec("UPDATE schema_version SET version = 99");
    expect(() => openSqlite(storeDefinition, file)).toThrow(
      expect.objectContaining({
        code: "database_too_new",
        message: expect.stringContaining("is at version 99, but this hub supports only up to"),
      }),
    );
    // The exclusive lock is possible only if openSqlite has closed the file.
    db.pragma("locking_mode = EXCLUSIVE");
    db.exec(`UPDATE schema_version SET version = ${version}`);
    db.close();
    await openSqlite(storeDefinition, file).close();
  });

  test("keeps its events when it is opened again", async () => {
    const file = newFile();
    const first = openSqlite(storeDefinition, file);
    await appendEvents(first, [sampleEvent()]);
    await first.close();
    const second = openSqlite(storeDefinition, file);
    expect(await allEvents(second)).toHaveLength(1);
    await second.close();
  });

  test("makes `retryWhileBusy` repeat the work while it is locked, but not after other errors", () => {
    const fail = (code: string) => {
      throw new Database.SqliteError("no", code);
    };
    let tries = 0;
    retryWhileBusy(() => ++tries < 3 && fail("SQLITE_BUSY"), 10_000);
    expect(tries).toBe(3);
    expect(() => retryWhileBusy(() => fail("SQLITE_BUSY"), 20)).toThrow("no");
    expect(() => retryWhileBusy(() => ++tries && fail("SQLITE_CORRUPT"), 10_000)).toThrow("no");
    expect(tries).toBe(4);
  });

  test("makes `checkWritable` fail while another process has locked it", async () => {
    const file = newFile();
    const store = openSqlite(storeDefinition, file, { busyTimeoutMs: 1 });
    const other = new Database(file);
    other.exec("BEGIN IMMEDIATE");
    await expect(store.checkWritable(1)).rejects.toThrow("locked");
    const error = await store.checkWritable(1).catch((error: unknown) => error);
    expect(store.isDataError(error)).toBe(false);
    other.exec("ROLLBACK");
    await store.checkWritable(1);
    other.close();
    await store.close();
  });
});

describe("a SQLite file that another process has locked", () => {
  async function setUp() {
    const file = newFile();
    const store = openSqlite(storeDefinition, file);
    await appendEvents(store, [sampleEvent()]);
    const other = new Database(file);
    onTestFinished(async () => {
      other.close();
      await store.close();
    });
    return { store, other };
  }

  test("does not block the thread, and executes waiting writes in order", async () => {
    const { store, other } = await setUp();
    other.exec("BEGIN IMMEDIATE");
    const eventLoop = monitorEventLoopDelay({ resolution: 1 });
    eventLoop.enable();
    const ended: string[] = [];
    const writes = ["a", "b", "c"].map((external_id) =>
      store
        .appendEvents([appendRequest([sampleEvent({ external_id })])], null)
        .then(([appended]) => {
          ended.push(external_id);
          return seqsOf(appended);
        }),
    );
    // Reads do not wait for the writer.
    expect(await allEvents(store)).toHaveLength(1);
    await expect.poll(() => eventLoop.count).toBeGreaterThan(200);
    eventLoop.disable();
    expect(ended).toEqual([]);
    expect(eventLoop.percentile(99.9) / 1e6).toBeLessThan(5_000); // a blocking wait would take 10 s
    other.exec("ROLLBACK");
    expect(await Promise.all(writes)).toEqual([[2], [3], [4]]);
    expect(ended).toEqual(["a", "b", "c"]);
  });

  test("rejects waiting calls on close", async () => {
    const { store, other } = await setUp();
    other.exec("BEGIN IMMEDIATE");
    const waiting = store.checkWritable(1);
    await store.close();
    await expect(waiting).rejects.toThrow("The store was closed.");
  });
});

test("a process that is killed during the migration of legacy flows leaves them unchanged", async () => {
  const file = newFile();
  const db = connect(file);
  onTestFinished(() => void db.close());
  db.exec(LEGACY_FLOWS);
  await openSqlite(storeDefinition, file).close();
  const before = db.prepare("SELECT * FROM older_flows").all();
  const sample = pathToFileURL(
    join(import.meta.dirname, "../../flows/store/contract/flow-sample.ts"),
  );
  const sqlite = pathToFileURL(join(import.meta.dirname, "sqlite.ts"));
  const definition = pathToFileURL(join(import.meta.dirname, "../../store.ts"));
  const killed = spawnSync(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `import { setDraft, intents, sampleApp } from ${JSON.stringify(sample)};
       import { openSqlite } from ${JSON.stringify(sqlite)};
       import { storeDefinition } from ${JSON.stringify(definition)};
       const draft = setDraft("Go", intents("Go"));
       const die = () => process.kill(process.pid, "SIGKILL");
       openSqlite(storeDefinition, process.argv[1]).migrateLegacyFlows((rows) => [{
         app: sampleApp(),
         plan: () => rows.map(({ id }, index) => ({ id, edit: (stored) => (index < 3 ? draft(stored) : die()) })),
       }]);`,
      file,
    ],
    { encoding: "utf8" },
  );
  expect(killed).toMatchObject({ signal: "SIGKILL", stderr: "" });
  expect(db.prepare("SELECT * FROM older_flows").all()).toEqual(before);
  expect(db.prepare("SELECT * FROM flows").all()).toEqual([]);
  const store = openSqlite(storeDefinition, file);
  expect(await store.migrateLegacyFlows(() => [])).toMatchObject({ outcome: "migrated" });
  await store.close();
});

describe("processes that share a SQLite file", () => {
  const PROCESSES = 4;
  let workers: ChildProcess[];

  beforeAll(async () => {
    workers = Array.from({ length: PROCESSES }, () =>
      fork(join(import.meta.dirname, "sqlite.test-worker.ts"), { stdio: "inherit", execArgv: [] }),
    );
    await Promise.all(workers.map((worker) => once(worker, "message")));
  });

  afterAll(async () => {
    for (const worker of workers) {
      worker.disconnect();
      await once(worker, "exit");
    }
  });

  const sendAll = (request: WorkerRequest): Promise<WorkerResult[]> =>
    Promise.all(
      workers.map(async (worker) => {
        worker.send(request);
        const [result] = (await once(worker, "message")) as [WorkerResult];
        return result;
      }),
    );

  test("create it concurrently, lose no event, and assign every seq once", async () => {
    for (let round = 0; round < 10; round += 1) {
      const file = newFile();
      const shared = ["one", "two", "three"].map((name) => `${name} of ${round}`);
      const results = await sendAll({ file, batches: 5, shared });
      expect(results.flatMap(({ error }) => error ?? [])).toEqual([]);

      const store = openSqlite(storeDefinition, file);
      const rows = await allEvents(store);
      const stored = results.flatMap((result) => result.stored);
      expect(stored).toHaveLength(PROCESSES * 5 * 3);
      expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, at) => at + 1));
      expect(rows).toHaveLength(stored.length + shared.length);
      for (const index of shared.keys()) {
        const outcomes = results.map((result) => result.shared[index]);
        expect(outcomes.filter((shared) => shared?.outcome === "stored")).toHaveLength(1);
        expect(new Set(outcomes.map((shared) => shared?.seq)).size).toBe(1);
      }
      expect(await store.getTenant("acme")).toMatchObject({
        seq: rows.length,
        pending: rows.length,
      });
      await store.close();
    }
  });
});
