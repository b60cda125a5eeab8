import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import Database from "better-sqlite3";
import { isBusy, restrictPermissions } from "./sqlite.ts";

/**
 * Locks a database file for one hub; commands may still open it. The lock is SQLite's own, on an empty
 * file beside the database, so the operating system releases it when the process ends, however it
 * ends. Returns a function that releases it, or undefined if another hub holds it.
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
