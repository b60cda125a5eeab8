import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { isBusy, restrictPermissions } from "./sqlite.ts";

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
