/** The size of a SQLite file, and the return of its free space to the file system. */
import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type Database from "better-sqlite3";
import type { DatabaseFile, DatabaseSize } from "../database-file.ts";

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

const readPragma = (db: Database.Database, name: string): number =>
  Number(db.pragma(name, { simple: true }));

/** Must be called before the first table is created. */
export function prepareFile(db: Database.Database): void {
  db.pragma("auto_vacuum = INCREMENTAL");
}

export function limitWal(db: Database.Database, bytes = WAL_BYTES): void {
  db.pragma(`wal_autocheckpoint = ${Math.round(bytes / readPragma(db, "page_size"))}`);
  db.pragma(`journal_size_limit = ${2 * WAL_BYTES}`);
}

export function readSize(db: Database.Database, file: string): DatabaseSize {
  const pageBytes = readPragma(db, "page_size");
  return {
    bytes: readPragma(db, "page_count") * pageBytes,
    free: readPragma(db, "freelist_count") * pageBytes,
    wal: statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0,
  };
}

const canShrink = (db: Database.Database): boolean => readPragma(db, "auto_vacuum") === INCREMENTAL;

/** Rebuilds the file without free pages, so that it can shrink in steps from now on. Blocks the thread. */
export function vacuum(db: Database.Database): void {
  prepareFile(db);
  db.exec("VACUUM");
  db.pragma("wal_checkpoint(TRUNCATE)");
}

/** Rebuilds a file of a former version, if that is quick and the disk has enough free space. */
export function vacuumFormerFile(db: Database.Database, file: string): void {
  if (canShrink(db)) return;
  const { bytes, free } = readSize(db, file);
  const used = bytes - (free ?? 0);
  if (used > MAX_VACUUM_BYTES) return;
  const { bavail, bsize } = statfsSync(dirname(file));
  // The pages are copied to a temporary file, and from there to the WAL.
  if (bavail * bsize < 4 * used) return;
  try {
    vacuum(db);
  } catch {
    // The folder of temporary files may be full. The file is unchanged, and the hub works with it.
  }
}

export interface DatabaseFileOptions {
  db: Database.Database;
  /** Runs the work now, or when no other process has locked the file. */
  run<Result>(work: () => Result): Promise<Result>;
  /** Returns the number of transactions so far. */
  countWrites(): number;
}

export function createDatabaseFile({ db, run, countWrites }: DatabaseFileOptions): DatabaseFile {
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
    keepWalShort: (isShort) => limitWal(db, isShort ? SHORT_WAL_BYTES : WAL_BYTES),
    compact: (maxPages) => run(() => compact(maxPages)),
    truncateWal: () => run(truncateWal),
  };
}
