import { closeSync, openSync, readSync } from "node:fs";
import { UsageError } from "@signalbox/cli/src/index.ts";
import type { Json } from "@signalbox/rules/json.ts";
import type { Database } from "better-sqlite3";
import { fileOfRows, readRow } from "../../flows/import/read-rows.ts";
import { selectOldestFirst } from "../../flows/store/legacy-flows.ts";
import { isLegacyTable } from "../../kernel/store/legacy-tables.ts";

const SQLITE_HEADER = "SQLite format 3\0";

/** Returns false if the file cannot be read. */
export function isSqliteFile(file: string): boolean {
  try {
    const descriptor = openSync(file, "r");
    try {
      const bytes = Buffer.alloc(SQLITE_HEADER.length);
      readSync(descriptor, bytes);
      return bytes.toString("latin1") === SQLITE_HEADER;
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return false;
  }
}

/** Reads the flows and apps in the SQLite database of a legacy system, as the content of a flow file. */
export async function readLegacyDatabase(file: string): Promise<Json> {
  const { default: Database } = await import("better-sqlite3");
  try {
    const db = new Database(file, { readonly: true });
    try {
      return readTables(db, file);
    } finally {
      db.close();
    }
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
    throw new UsageError(`${file} cannot be read as an SQLite database: ${error.message}.`);
  }
}

function readTables(db: Database, file: string): Json {
  const columnsOf = (table: string) =>
    db.prepare("SELECT name FROM pragma_table_info(?)").pluck().all(table) as string[];
  const rowsOf = (table: string) => {
    const columns = columnsOf(table);
    const sql = selectOldestFirst(table, columns);
    return columns.length === 0 ? [] : (db.prepare(sql).all() as Record<string, unknown>[]);
  };
  const columns = columnsOf("flows");
  if (columns.includes("graph"))
    throw new UsageError(
      `${file} is the database of a hub, not of a legacy system. To export its flows, run \`npx signalbox flows pull DIR\` in the folder of that hub.`,
    );
  if (!isLegacyTable(columns))
    throw new UsageError(`${file} has no table "flows" of a legacy system.`);
  return fileOfRows(
    rowsOf("flows").map((row) => readRow(row).flow),
    rowsOf("apps"),
  );
}
