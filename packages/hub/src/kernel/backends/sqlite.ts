/**
 * SQLite, the embedded default: one file in WAL mode, with an fsync for every commit. Verbs run
 * synchronously; a batch of 64 events with payloads takes about three milliseconds. While another
 * process has locked the file, verbs wait in a queue, without blocking the event loop.
 */
import { chmodSync, closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import type { Engine } from "../store/engine.ts";
import { createListeners } from "../store/listeners.ts";
import { migrate } from "../store/migrate.ts";
import type { OperationLog } from "../store/outage-log.ts";
import { createPackLarge } from "../store/packs.ts";
import { insertSql, runSync, type SyncSql } from "../store/run-sync.ts";
import { tablesOf } from "../store/schema.ts";
import type { Dialect, Notice, Row, Verb } from "../store/sql.ts";
import {
  describeDamage,
  StorageDamaged,
  StorageUnavailable,
} from "../store/storage-unavailable.ts";
import { createStoreCache, type StoreCache } from "../store/store-cache.ts";
import { bindVerbs, type StoreOf } from "../store/verb.ts";
import { createBusyRetry } from "./sqlite-busy-retry.ts";
import {
  createDatabaseFile,
  limitWal,
  prepareFile,
  readSize,
  vacuum,
  vacuumFormerFile,
} from "./sqlite-file.ts";
import { sqliteTableParts } from "./table-parts.ts";
import { zstd } from "./zstd.ts";

/** The size with the fewest writes for payloads of about 10 KB. */
const PAGE_BYTES = 8192;

export const dialect: Dialect = {
  forUpdate: "",
  skipLocked: "",
  TEXT: "TEXT",
  BLOB: "BLOB",
  CLUSTERED: "WITHOUT ROWID",
  indexOf: "instr",
  randomId: "lower(hex(randomblob(16)))",
  timeline: undefined,
  columns: "SELECT name FROM pragma_table_info(?)",
  tableParts: sqliteTableParts,
  migrationLock: undefined, // BEGIN IMMEDIATE is the lock
  maxParams: 32_766,
  maxBlob: Number.MAX_SAFE_INTEGER,
  pageBytes: PAGE_BYTES,
  codec: zstd,
};

export interface SqliteOptions {
  /** How long a verb waits for the lock of another process. */
  busyTimeoutMs?: number;
  /** Whether the schema is created in a file without one. Otherwise such a file is refused. */
  mayCreate?: boolean;
  /**
   * Whether the file is rebuilt without free pages: `always`, or only if a former version has created it and
   * if that is quick. No other process may use the file.
   */
  vacuum?: "always" | "former" | undefined;
  /** Is notified of the result of every call. */
  outages?: OperationLog;
  /** Injected by benchmarks that measure reads without the cache. */
  cache?: StoreCache;
}

/** How long SQLite itself waits for a lock, which blocks the thread. After this time, verbs are retried. */
const BLOCKING_WAIT_MS = 25;

/** SQLite's name of a database without a file. */
const IN_MEMORY = ":memory:";

/** Opens or creates the file, with settings that survive a power failure. */
export function connect(
  file: string,
  { busyTimeoutMs = 10_000 }: SqliteOptions = {},
): Database.Database {
  if (file !== IN_MEMORY) {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    restrictPermissions(file);
  }
  const db = new Database(file, { timeout: Math.min(BLOCKING_WAIT_MS, busyTimeoutMs) });
  db.pragma(`page_size = ${PAGE_BYTES}`);
  // If two processes create the file, one of them fails with SQLITE_BUSY, despite the timeout.
  retryWhileBusy(() => {
    prepareFile(db);
    db.pragma("journal_mode = WAL");
  }, busyTimeoutMs);
  db.pragma("synchronous = FULL");
  db.pragma("cache_size = -16000");
  limitWal(db);
  return db;
}

/**
 * Makes the file and its WAL accessible to their owner only. SQLite copies the mode to files that it
 * creates.
 */
export function restrictPermissions(file: string): void {
  try {
    // Only creates the file (`wx`): closing an existing file would release the locks of this process on it.
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  for (const path of [file, `${file}-wal`, `${file}-shm`]) {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
    try {
      if (mode & 0o077) chmodSync(path, 0o600);
    } catch (error) {
      // The file belongs to another user: its mode stays.
      if (!["EPERM", "ENOENT"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
}

export const isBusy = (error: unknown): boolean =>
  error instanceof Database.SqliteError && error.code.startsWith("SQLITE_BUSY");

/** Undefined if the error is not about the file or its disk. */
function toUnavailable(file: string, error: unknown): StorageUnavailable | undefined {
  if (!(error instanceof Database.SqliteError)) return undefined;
  const { message, code } = error;
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code))
    return new StorageDamaged(describeDamage(file, `${message}, ${code}`));
  if (code === "SQLITE_FULL")
    return new StorageUnavailable(`${message} (${code}): free space on the disk of ${file}`);
  return /^SQLITE_(BUSY|LOCKED|IOERR|READONLY|CANTOPEN|PROTOCOL)/.test(code)
    ? new StorageUnavailable(`${message} (${code})`)
    : undefined;
}

/** Blocks the thread between the attempts; used only before the hub serves requests. */
export function retryWhileBusy(work: () => void, timeoutMs: number): void {
  const deadline = performance.now() + timeoutMs;
  const clock = new Int32Array(new SharedArrayBuffer(4));
  for (;;) {
    try {
      work();
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
    }
    Atomics.wait(clock, 0, 0, 5);
  }
}

/**
 * Throws SQLITE_READONLY if the file cannot be written, for example because it belongs to another user: SQLite
 * opens such a file without an error. Nothing is written.
 */
const assertWritable = (db: Database.Database): void =>
  void db.exec("BEGIN IMMEDIATE; DELETE FROM schema_version WHERE id < 0; ROLLBACK");

export function openSqlite<Definition extends object>(
  definition: Definition,
  file: string,
  options: SqliteOptions = {},
): StoreOf<Definition> & Engine {
  const {
    busyTimeoutMs = 10_000,
    mayCreate,
    vacuum: vacuumed,
    outages = { onFailure() {}, onSuccess() {} },
    cache = createStoreCache(),
  } = options;
  const tables = tablesOf(definition);
  const db = connect(file, options);
  const statements = new Map<string, Database.Statement>();
  const prepare = (sql: string) => {
    let statement = statements.get(sql);
    if (!statement) {
      statement = db.prepare(sql);
      statements.set(sql, statement);
    }
    return statement;
  };
  const sql: SyncSql = {
    query(text, params) {
      const statement = prepare(text);
      if (statement.reader) return statement.all(...params) as Row[];
      statement.run(...params);
      return [];
    },
    insert(insert) {
      const statement = prepare(insertSql(insert));
      // Spread arguments bind faster than an array.
      for (const row of insert.rows) statement.run(...row);
    },
  };

  const listeners = createListeners();
  let writeCount = 0;
  const inTransaction = db.transaction((verb: Verb<unknown>, notices: Notice[]) =>
    runSync(sql, verb, notices),
  );
  const run = <Result>(verb: () => Verb<Result>, writes: boolean): Result => {
    const notices: Notice[] = [];
    if (!writes) return runSync(sql, verb(), notices);
    writeCount += 1;
    const result = inTransaction.immediate(verb(), notices) as Result;
    listeners.notify(notices);
    return result;
  };

  let notConverted: string | undefined;
  try {
    retryWhileBusy(() => {
      run(() => migrate(dialect, tables, { mayCreate }), true);
      assertWritable(db);
    }, busyTimeoutMs);
    if (vacuumed === "always") vacuum(db);
    if (vacuumed === "former") notConverted = vacuumFormerFile(db, file);
  } catch (error) {
    db.close();
    throw error;
  }

  // Two queues, so that readers do not wait while only writers are blocked.
  const createQueue = (operation: { writes: boolean }) =>
    createBusyRetry({
      timeoutMs: busyTimeoutMs,
      isBusy,
      onSuccess: () => outages.onSuccess(operation),
      toError(error) {
        const unavailable = toUnavailable(file, error);
        if (!unavailable) return error;
        outages.onFailure(unavailable, operation);
        return unavailable;
      },
    });
  const reading = createQueue({ writes: false });
  const writing = createQueue({ writes: true });

  return {
    backend: "sqlite",
    tables,
    file: createDatabaseFile({ db, notConverted, run: writing.run, countWrites: () => writeCount }),
    measureSize: async () => readSize(db, file),
    packLarge: createPackLarge(dialect),
    ...bindVerbs(
      definition,
      { dialect, tables, cache },
      { run: (verb, writes) => (writes ? writing : reading).run(() => run(verb, writes)) },
    ),
    subscribe: listeners.subscribe,
    onCommit: listeners.subscribe,
    isDataError: (error) =>
      error instanceof Database.SqliteError &&
      /^SQLITE_(CONSTRAINT|TOOBIG|MISMATCH|RANGE)/.test(error.code),
    async close() {
      for (const queue of [reading, writing]) queue.rejectAll(new Error("The store was closed."));
      statements.clear();
      db.close();
    },
  };
}
