/** How the steps of a verb are said to PostgreSQL, and its answers read. */
import pg from "pg";
import type { Dialect, Step, Value } from "../sql.ts";
import { zstd } from "./zstd.ts";

export const dialect: Dialect = {
  forUpdate: " FOR UPDATE",
  skipLocked: " FOR UPDATE SKIP LOCKED",
  TEXT: 'TEXT COLLATE "C"',
  BLOB: "BYTEA",
  CLUSTERED: "",
  indexOf: "strpos",
  randomId: "replace(gen_random_uuid()::text, '-', '')",
  columns:
    "SELECT column_name AS name FROM information_schema.columns " +
    "WHERE table_schema = current_schema() AND table_name = ? ORDER BY ordinal_position",
  migrationLock: "SELECT pg_advisory_xact_lock(7469446717)",
  maxParams: 65_535,
  maxBlob: Number.MAX_SAFE_INTEGER,
  codec: zstd,
};

export interface Statement {
  text: string;
  values: Value[];
}

/** A query is one statement; an insert of many rows as few as the limit on parameters allows. */
export function* statements(step: Exclude<Step, { kind: "notify" }>): Generator<Statement> {
  if (step.kind === "query") {
    yield { text: numbered(step.sql), values: step.params as Value[] };
    return;
  }
  const { table, columns, rows, onConflict = "" } = step;
  const most = Math.floor(dialect.maxParams / columns.length);
  for (let start = 0; start < rows.length; start += most) {
    const piece = rows.slice(start, start + most);
    let count = 0;
    const nextRow = () => `(${columns.map(() => `$${++count}`).join(",")})`;
    yield {
      text: `INSERT INTO ${table} (${columns.join(", ")}) VALUES ${piece.map(nextRow).join(",")} ${onConflict}`,
      values: piece.flat(),
    };
  }
}

const numberedCache = new Map<string, string>();

/** `?` → `$1`, `$2`, …; none of our statements has a question mark in a literal. */
function numbered(sql: string): string {
  let text = numberedCache.get(sql);
  if (text === undefined) {
    let count = 0;
    text = sql.replaceAll("?", () => `$${++count}`);
    if (numberedCache.size < 1_000) numberedCache.set(sql, text);
  }
  return text;
}

/** Counts and times fit a double with room to spare; the driver would hand them out as strings. */
export const types = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === pg.types.builtins.INT8
      ? Number
      : pg.types.getTypeParser(oid, format as "text")) as typeof pg.types.getTypeParser,
};
