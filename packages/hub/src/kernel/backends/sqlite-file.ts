/** The file of a SQLite database: opens and locks it, measures it, and returns free space to the file system. */

import { chmodSync, closeSync, mkdirSync, openSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import type { DatabaseFile, DatabaseSize } from "../store/engine.ts";

const MIB = 1024 * 1024;
/** The WAL is copied to the file when it has this size. */
const WAL_BYTES = 16 * MIB;
const SHORT_WAL_BYTES = 2 * MIB;
/** Steady retention frees as much as new events need, so it does not resize the file. */
const RESERVED_BYTES = 16 * MIB;
const RESERVED_SHARE = 0.1;
/** `VACUUM` copies the used pages, which takes about a second for this size. */
const MAX_VACUUM_BYTES = 128 * MIB;
/** The number of transactions between two calls up to which the database is idle. */
const IDLE_WRITES = 300;
/** `auto_vacuum` of a file whose free pages can be removed in steps. */
const INCREMENTAL = 2;
/** The size with the fewest writes for payloads of about 10 KB. */
export const PAGE_BYTES = 8192;

/** How long a call waits for the lock of another process. */
export const BUSY_TIMEOUT_MS = 10_000;

/** How long SQLite itself waits for a lock, which blocks the thread. After this time, verbs are retried. */
const BLOCKING_WAIT_MS = 25;

/** SQLite's name of a database without a file. */
const IN_MEMORY = ":memory:";

/** Opens or creates the file, with settings that survive a power failure. */
export function connect(
  file: string,
  { busyTimeoutMs = BUSY_TIMEOUT_MS }: { busyTimeoutMs?: number } = {},
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
function restrictPermissions(file: string): void {
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
export const assertWritable = (db: Database.Database): void =>
  void db.exec("BEGIN IMMEDIATE; DELETE FROM schema_version WHERE id < 0; ROLLBACK");

/**
 * Locks a database file, so that only one hub uses it; commands may still open it. The lock is a
 * SQLite lock on an empty file beside the database, so the operating system releases it even if the
 * process is killed. Returns a function that releases the lock, or undefined if another hub has it.
 */
export function lockDatabase(databaseFile: string): (() => void) | undefined {
  const file = `${databaseFile}.lock`;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  restrictPermissions(file);
  const db = new Database(file, { timeout: 0 });
  try {
    db.pragma("journal_mode = MEMORY"); // otherwise a killed process leaves a journal file
    db.exec("BEGIN EXCLUSIVE");
    return () => void db.close();
  } catch (error) {
    db.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
}

const readPragma = (db: Database.Database, name: string): number =>
  Number(db.pragma(name, { simple: true }));

/** Must be called before the first table is created. */
function prepareFile(db: Database.Database): void {
  db.pragma("auto_vacuum = INCREMENTAL");
}

function limitWal(db: Database.Database, bytes = WAL_BYTES): void {
  db.pragma(`wal_autocheckpoint = ${Math.round(bytes / readPragma(db, "page_size"))}`);
  db.pragma(`journal_size_limit = ${2 * WAL_BYTES}`);
}

export function readSize(db: Database.Database, file: string): DatabaseSize {
  const pageBytes = readPragma(db, "page_size");
  const free = readPragma(db, "freelist_count");
  const wal = fileBytes(`${file}-wal`);
  return {
    // Until a checkpoint, the file differs from the number of pages, because newer pages are in the WAL.
    disk: fileBytes(file) + wal,
    used: (readPragma(db, "page_count") - free) * pageBytes,
    free: free * pageBytes,
    wal,
  };
}

const fileBytes = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

const canShrink = (db: Database.Database): boolean => readPragma(db, "auto_vacuum") === INCREMENTAL;

/** Rebuilds the file without free pages, so that it can shrink in steps from now on. Blocks the thread. */
export function vacuum(db: Database.Database): void {
  prepareFile(db);
  db.exec("VACUUM");
  db.pragma("wal_checkpoint(TRUNCATE)");
}

/**
 * Rebuilds a file of a former version, if that is quick and the disk has enough free space. Otherwise returns
 * the reason, with the fix.
 */
export function vacuumFormerFile(db: Database.Database, file: string): string | undefined {
  if (canShrink(db)) return undefined;
  const { used } = readSize(db, file);
  if (used > MAX_VACUUM_BYTES)
    return "it has too much data to be converted at the start. Stop the hub, and run `npx signalbox compact` once";
  const { bavail, bsize } = statfsSync(dirname(file));
  const [free, needed] = [bavail * bsize, 4 * used];
  // The pages are copied to a temporary file, and from there to the WAL.
  if (free < needed)
    return `its conversion needs ${mebibytes(needed)} of free disk space, and ${dirname(file)} has ${mebibytes(free)}. Free disk space, and restart the hub`;
  try {
    vacuum(db);
    return undefined;
  } catch (error) {
    // The file is unchanged, and the hub works with it.
    return `its conversion failed (${(error as Error).message}). Check the free space of the folder of temporary files (SQLITE_TMPDIR, TMPDIR or /var/tmp), and restart the hub`;
  }
}

const mebibytes = (bytes: number): string => `${(bytes / MIB).toFixed(1)} MiB`;

export interface DatabaseFileOptions {
  db: Database.Database;
  /** See `DatabaseFile`. */
  notConverted: string | undefined;
  /** Runs the work now, or when no other process has locked the file. */
  run<Result>(work: () => Result): Promise<Result>;
  /** Returns the number of transactions so far. */
  countWrites(): number;
}

export function createDatabaseFile({
  db,
  notConverted,
  run,
  countWrites,
}: DatabaseFileOptions): DatabaseFile {
  let writesBefore = 0;
  const compact = (maxPages: number): boolean => {
    const free = readPragma(db, "freelist_count");
    const used = readPragma(db, "page_count") - free;
    const reserved = Math.max(used * RESERVED_SHARE, RESERVED_BYTES / readPragma(db, "page_size"));
    const excess = Math.floor(free - reserved);
    if (excess <= 0 || !canShrink(db)) return false;
    db.pragma(`incremental_vacuum(${Math.min(maxPages, excess)})`);
    return excess > maxPages;
  };
  const truncateWal = (): void => {
    const writes = countWrites();
    if (writes - writesBefore <= IDLE_WRITES) db.pragma("wal_checkpoint(TRUNCATE)");
    writesBefore = writes;
  };
  return {
    canShrink: canShrink(db),
    notConverted,
    keepWalShort: (isShort) => limitWal(db, isShort ? SHORT_WAL_BYTES : WAL_BYTES),
    compact: (maxPages) => run(() => compact(maxPages)),
    truncateWal: () => run(truncateWal),
  };
}
