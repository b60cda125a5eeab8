/** The size of a SQLite file, and the return of its free space to the file system. */
import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type Database from "better-sqlite3";
import type { DatabaseFile, DatabaseSize } from "../store/database-file.ts";

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
