import type { Insert, Notice, Operation, Row, Value, Verb } from "./sql.ts";

/** The interface of a synchronous SQLite: better-sqlite3 or Durable Object storage. */
export interface SyncSql {
  query(sql: string, params: readonly Value[]): Row[];
  insert(insert: Insert): void;
}

/** Runs all operations of a verb, and adds its notices to `notices`. The caller manages the transaction. */
export function runSync<Result>(sql: SyncSql, verb: Verb<Result>, notices: Notice[]): Result {
  let rows: Row[] = [];
  for (;;) {
    const { done, value } = verb.next(rows);
    if (done) return value;
    rows = execute(sql, value, notices);
  }
}

const NO_ROWS: Row[] = [];

function execute(sql: SyncSql, operation: Operation, notices: Notice[]): Row[] {
  switch (operation.kind) {
    case "query":
    case "execute":
      return sql.query(operation.sql, operation.params);
    case "insert":
      sql.insert(operation);
      return NO_ROWS;
    case "notify":
      notices.push(operation.notice);
      return NO_ROWS;
    case "all":
      return operation.operations.map((inner) => execute(sql, inner, notices)) as unknown as Row[];
  }
}

/** Caches the text of the last insert, by its list of columns, which is usually a constant. */
const texts = new WeakMap<readonly string[], { table: string; conflict: string; text: string }>();

/**
 * Returns a statement that inserts one row. Executing it once per row is the fastest method on a
 * synchronous engine.
 */
export function insertSql({ table, columns, onConflict: conflict = "" }: Insert): string {
  const cached = texts.get(columns);
  if (cached?.table === table && cached.conflict === conflict) return cached.text;
  const text = `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")}) ${conflict}`;
  texts.set(columns, { table, conflict, text });
  return text;
}
