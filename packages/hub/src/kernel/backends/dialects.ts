/** The SQL of the engines. It imports no driver, so that tests on any host can use it. */
import type { Dialect } from "../store/sql.ts";

/** The part that SQLite and the storage of Durable Objects share. */
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

export const postgresDialect = {
  forUpdate: " FOR UPDATE",
  skipLocked: " FOR UPDATE SKIP LOCKED",
  TEXT: 'TEXT COLLATE "C"',
  BLOB: "BYTEA",
  CLUSTERED: "",
  indexOf: "strpos",
  randomId: "replace(gen_random_uuid()::text, '-', '')",
  // The name of a WAL file begins with the timeline, in eight digits. A standby cannot compute it.
  timeline:
    "CASE WHEN pg_is_in_recovery() THEN '00' " +
    "ELSE lower(substr(pg_walfile_name(pg_current_wal_lsn()), 7, 2)) END",
  columns:
    "SELECT column_name AS name FROM information_schema.columns " +
    "WHERE table_schema = current_schema() AND table_name = ? ORDER BY ordinal_position",
  tableParts:
    "WITH t AS (SELECT to_regclass(quote_ident(current_schema()) || '.' || quote_ident(?)) AS id) " +
    "SELECT a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END AS part " +
    "FROM pg_attribute a, t WHERE a.attrelid = t.id AND a.attnum > 0 AND NOT a.attisdropped " +
    "UNION ALL SELECT pg_get_constraintdef(c.oid) FROM pg_constraint c, t WHERE c.conrelid = t.id AND c.contype IN ('p', 'u') " +
    "UNION ALL SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i, t WHERE i.indrelid = t.id " +
    "AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid)",
  migrationLock: "SELECT pg_advisory_xact_lock(7469446717)",
  maxParams: 65_535,
  maxBlob: Number.MAX_SAFE_INTEGER,
  pageBytes: undefined,
} as const satisfies Partial<Dialect>;
