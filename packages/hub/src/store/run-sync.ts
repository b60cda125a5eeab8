import type { Insert, Notice, Row, Step, Value, Verb } from "./sql.ts";

/** What a synchronous SQLite must offer; better-sqlite3 and Durable Object storage both can. */
export interface SyncSql {
  query(sql: string, params: readonly Value[]): Row[];
  insert(insert: Insert): void;
}

/** Walks a verb to its end, statement by statement. The caller holds the transaction. */
export function runSync<Result>(sql: SyncSql, verb: Verb<Result>, notices: Notice[]): Result {
  let rows: Row[] = [];
  for (;;) {
    const { done, value } = verb.next(rows);
    if (done) return value;
    rows = step(sql, value, notices);
  }
}

const NONE: Row[] = [];

function step(sql: SyncSql, next: Step, notices: Notice[]): Row[] {
  switch (next.kind) {
    case "query":
      return sql.query(next.sql, next.params);
    case "insert":
      sql.insert(next);
      return NONE;
    case "notify":
      notices.push(next.notice);
      return NONE;
  }
}

const texts = new WeakMap<readonly string[], { table: string; conflict: string; text: string }>();

/** For one row: a synchronous engine is fastest when it runs one prepared statement again and again. */
export function insertSql({ table, columns, onConflict: conflict = "" }: Insert): string {
  const known = texts.get(columns);
  if (known?.table === table && known.conflict === conflict) return known.text;
  const text = `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")}) ${conflict}`;
  texts.set(columns, { table, conflict, text });
  return text;
}
