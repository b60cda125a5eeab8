/**
 * The embedded default: one file, WAL, every commit fsynced. Verbs run at once on the calling
 * thread; a batch of 64 events with their payloads takes about three milliseconds. While another
 * process holds the file they wait, in order, and the thread goes on with other work.
 */
import { chmodSync, closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { createListeners } from "../listeners.ts";
import { migrate } from "../migrations.ts";
import { insertSql, runSync, type SyncSql } from "../run-sync.ts";
import type { Dialect, Notice, Row, Verb } from "../sql.ts";
import type { Store } from "../store.ts";
import type { StoreCache } from "../store-cache.ts";
import { bindVerbs, verbTable } from "../verbs/index.ts";
import { createBusyRetry } from "./sqlite-busy-retry.ts";
import { zstd } from "./zstd.ts";

export const dialect: Dialect = {
  forUpdate: "",
  skipLocked: "",
  TEXT: "TEXT",
  BLOB: "BLOB",
  CLUSTERED: "WITHOUT ROWID",
  indexOf: "instr",
  randomId: "lower(hex(randomblob(16)))",
  columns: "SELECT name FROM pragma_table_info(?)",
  migrationLock: undefined, // BEGIN IMMEDIATE is the lock
  maxParams: 32_766,
  maxBlob: Number.MAX_SAFE_INTEGER,
  codec: zstd,
};

export interface SqliteOptions {
  /** How long a verb waits for another process that holds the file. */
  busyTimeoutMs?: number;
  /** For whoever wants to know what a call takes without it. */
  cache?: StoreCache;
}

/** How long SQLite itself may wait, for which this thread stands still. Beyond it, verbs wait asleep. */
const STANDSTILL_MS = 25;

const WAL_LIMIT_BYTES = 16 * 1024 * 1024;
const PAGE_BYTES = 8192; // payloads of some 10 KB take the fewest writes with it

/** Opens the file, and creates it where there is none, with settings that survive a power cut. */
export function connect(
  file: string,
  { busyTimeoutMs = 10_000 }: SqliteOptions = {},
): Database.Database {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  keepPrivate(file);
  const db = new Database(file, { timeout: Math.min(STANDSTILL_MS, busyTimeoutMs) });
  db.pragma(`page_size = ${PAGE_BYTES}`);
  // Of two processes that create one file, the loser is told "locked" at once, whatever the time-out.
  retryWhileBusy(() => db.pragma("journal_mode = WAL"), busyTimeoutMs);
  db.pragma("synchronous = FULL");
  db.pragma("cache_size = -16000");
  db.pragma(`wal_autocheckpoint = ${WAL_LIMIT_BYTES / PAGE_BYTES}`);
  db.pragma(`journal_size_limit = ${2 * WAL_LIMIT_BYTES}`);
  return db;
}

/** For their owner only, whatever folder they lie in. SQLite gives its other files the mode of the first. */
function keepPrivate(file: string): void {
  try {
    // Only ever a new file: closing one that is open elsewhere in this process would drop its locks.
    closeSync(openSync(file, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  for (const path of [file, `${file}-wal`, `${file}-shm`]) {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
    try {
      if (mode & 0o077) chmodSync(path, 0o600);
    } catch (error) {
      // Somebody else's file, which we may use: then its mode is theirs to decide.
      if (!["EPERM", "ENOENT"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
}

const isBusy = (error: unknown): boolean =>
  error instanceof Database.SqliteError && error.code.startsWith("SQLITE_BUSY");

/** Stands still in between; for the time before the hub serves anybody. */
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

export function openSqlite(file: string, options: SqliteOptions = {}): Store {
  const { busyTimeoutMs = 10_000 } = options;
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
      // Spread: one value of an array at a time takes the binding longer.
      for (const row of insert.rows) statement.run(...row);
    },
  };

  const listeners = createListeners();
  const inTransaction = db.transaction((verb: Verb<unknown>, notices: Notice[]) =>
    runSync(sql, verb, notices),
  );
  const run = <Result>(verb: () => Verb<Result>, writes: boolean): Result => {
    const notices: Notice[] = [];
    if (!writes) return runSync(sql, verb(), notices);
    const result = inTransaction.immediate(verb(), notices) as Result;
    listeners.tell(notices);
    return result;
  };

  try {
    retryWhileBusy(() => run(() => migrate(dialect), true), busyTimeoutMs);
  } catch (error) {
    db.close();
    throw error;
  }

  // A reader need not wait where only a writer has to.
  const patience = { timeoutMs: busyTimeoutMs, isBusy };
  const reading = createBusyRetry(patience);
  const writing = createBusyRetry(patience);

  return {
    backend: "sqlite",
    ...bindVerbs(verbTable(dialect, options.cache), (verb, writes) =>
      (writes ? writing : reading).run(() => run(verb, writes)),
    ),
    subscribe: listeners.subscribe,
    isDataError: (error) =>
      error instanceof Database.SqliteError &&
      /^SQLITE_(CONSTRAINT|TOOBIG|MISMATCH|RANGE)/.test(error.code),
    async close() {
      for (const lane of [reading, writing]) lane.giveUp(new Error("The store was closed."));
      statements.clear();
      db.close();
    },
  };
}
