/** The part of the dialect that SQLite and the storage of Durable Objects share. */
import type { Dialect } from "../store/sql.ts";

export const sqliteDialect = {
  forUpdate: "",
  skipLocked: "",
  TEXT: "TEXT",
  BLOB: "BLOB",
  CLUSTERED: "WITHOUT ROWID",
  indexOf: "instr",
  randomId: "lower(hex(randomblob(16)))",
  timeline: undefined,
  columns: "SELECT name FROM pragma_table_info(?)",
  // The SQL of a table is not used: it depends on the order of the columns.
  tableParts:
    "WITH t AS (SELECT name FROM sqlite_master WHERE type = 'table' AND name = ?) " +
    `SELECT c.name || ' ' || c.type || iif(c."notnull", ' NOT NULL', '') || iif(c.pk, ' KEY ' || c.pk, '') AS part ` +
    "FROM t, pragma_table_info(t.name) c " +
    "UNION ALL SELECT i.sql FROM t, sqlite_master i WHERE i.type = 'index' AND i.tbl_name = t.name AND i.sql IS NOT NULL",
  migrationLock: undefined, // a transaction that writes is the lock
} as const satisfies Partial<Dialect>;
