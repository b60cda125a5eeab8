/**
 * Translates the operations of a verb to PostgreSQL statements, and executes them on one connection. It waits only
 * for rows that the verb reads. All other statements are sent without waiting, up to the commit. So a transaction
 * takes few round trips, and holds its locks for a short time.
 */
import pg from "pg";
import type { Dialect, Notice, Operation, Row, Value, Verb } from "../store/sql.ts";
import { postgresDialect } from "./dialects.ts";
import { VerbFailed } from "./postgres-errors.ts";
import { zstd } from "./zstd.ts";

export const dialect: Dialect = { ...postgresDialect, codec: zstd };

/** Parses BIGINT as a number, since our values fit. By default, the driver returns strings. */
export const types = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === pg.types.builtins.INT8
      ? Number
      : pg.types.getTypeParser(oid, format as "text")) as typeof pg.types.getTypeParser,
};

interface Statement {
  text: string;
  values: Value[];
}

interface Pipeline {
  /** Sends a statement without waiting. If it fails, the next `query` throws its error. */
  send(statement: Statement | string): void;
  /** Throws the error of the first statement that failed. */
  query(statement: Statement | string): Promise<Row[]>;
  /** Runs a verb. When the promise resolves, its last statements may not be executed yet. */
  run<Result>(verb: Verb<Result>, notices: Notice[]): Promise<Result>;
}

/** The client must be in the driver's pipeline mode. */
export function createPipeline(client: pg.ClientBase): Pipeline {
  let failure: Error | undefined;

  const query = (statement: Statement | string): Promise<Row[]> =>
    new Promise((resolve, reject) => {
      // A statement that the driver cannot serialize never reaches the server, which would commit the
      // other statements. So nothing is sent after a failure.
      if (failure) return reject(failure);
      const done = (error: Error | null, result?: pg.QueryResult<Row>) => {
        if (error) failure ??= error;
        // After an error the server executes COMMIT as ROLLBACK, without an error.
        if (failure) reject(failure);
        else resolve(result?.rows ?? []);
      };
      if (typeof statement === "string") client.query(statement, done);
      else client.query(statement.text, statement.values, done);
    });
  const send = (statement: Statement | string): void => void query(statement).catch(() => {});

  const perform = (operation: Operation, notices: Notice[]): Promise<Row[]> | Row[] => {
    switch (operation.kind) {
      case "query": {
        const [statement] = statements(operation);
        return query(statement as Statement);
      }
      case "execute":
      case "insert":
        for (const statement of statements(operation)) send(statement);
        return [];
      case "notify":
        notices.push(operation.notice);
        return [];
      case "all":
        return Promise.all(operation.operations.map((inner) => perform(inner, notices))) as Promise<
          unknown[]
        > as Promise<Row[]>;
    }
  };

  return {
    send,
    query,
    async run(verb, notices) {
      let rows: Row[] = [];
      for (;;) {
        const { done, value } = advance(verb, rows);
        if (done) return value;
        const performed = perform(value, notices);
        rows = performed instanceof Promise ? await performed : performed;
      }
    },
  };
}

function advance<Result>(verb: Verb<Result>, rows: Row[]): ReturnType<Verb<Result>["next"]> {
  try {
    return verb.next(rows);
  } catch (error) {
    throw new VerbFailed("A verb failed.", { cause: error });
  }
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
