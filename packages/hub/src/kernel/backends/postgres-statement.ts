/** Translates the operations of a verb to PostgreSQL statements, and PostgreSQL's values to JavaScript. */
import pg from "pg";
import type { Dialect, Operation, Value } from "../store/sql.ts";
import { postgresTableParts } from "./table-parts.ts";
import { zstd } from "./zstd.ts";

export const dialect: Dialect = {
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
  tableParts: postgresTableParts,
  migrationLock: "SELECT pg_advisory_xact_lock(7469446717)",
  maxParams: 65_535,
  maxBlob: Number.MAX_SAFE_INTEGER,
  pageBytes: undefined,
  codec: zstd,
};

export interface Statement {
  text: string;
  values: Value[];
}

/** A query is one statement. An insert of many rows is split at the maximum number of parameters. */
export function* statements(
  operation: Extract<Operation, { kind: "query" | "execute" | "insert" }>,
): Generator<Statement> {
  if (operation.kind !== "insert") {
    yield { text: numberParams(operation.sql), values: operation.params as Value[] };
    return;
  }
  const { table, columns, rows, onConflict = "" } = operation;
  const maxRows = Math.floor(dialect.maxParams / columns.length);
  for (let start = 0; start < rows.length; start += maxRows) {
    const chunk = rows.slice(start, start + maxRows);
    let count = 0;
    const nextRow = () => `(${columns.map(() => `$${++count}`).join(",")})`;
    yield {
      text: `INSERT INTO ${table} (${columns.join(", ")}) VALUES ${chunk.map(nextRow).join(",")} ${onConflict}`,
      values: chunk.flat(),
    };
  }
}

const numberedCache = new Map<string, string>();

/** Replaces `?` by `$1`, `$2`, …. Our statements have no question marks in literals. */
function numberParams(sql: string): string {
  let text = numberedCache.get(sql);
  if (text === undefined) {
    let count = 0;
    text = sql.replaceAll("?", () => `$${++count}`);
    if (numberedCache.size < 1_000) numberedCache.set(sql, text);
  }
  return text;
}

/** Parses BIGINT as a number, since our values fit. By default, the driver returns strings. */
export const types = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === pg.types.builtins.INT8
      ? Number
      : pg.types.getTypeParser(oid, format as "text")) as typeof pg.types.getTypeParser,
};
