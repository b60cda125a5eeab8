/**
 * A verb of the store is written once, as a generator that yields SQL and returns its result. A
 * backend runs it to its end inside one transaction: at once on SQLite and Durable Objects (which
 * are synchronous), with awaits on PostgreSQL. So the rules stand in one place, every verb is
 * atomic, and no transaction object leaves the store. See docs/decisions/0002-verbs-as-generators.md.
 */
import type { Codec } from "./packs.ts";

export type Value = string | number | null | Uint8Array;
export type Row = Record<string, unknown>;

export type Step =
  | { kind: "query"; sql: string; params: readonly Value[] }
  | ({ kind: "insert" } & Insert)
  | { kind: "notify"; notice: Notice };

export interface Insert {
  table: string;
  columns: readonly string[];
  rows: readonly Value[][];
  /** An `ON CONFLICT` clause; without one a row that is there already is an error. */
  onConflict?: string;
}

/** Told to every listener of every replica once the transaction has committed. */
export type Notice =
  | { topic: "events"; tenant: string; seq: number }
  /** Stored events that were claimed, given back or marked processed. */
  | { topic: "changed"; tenant: string; ids: readonly string[] }
  /** Runs are waiting to be taken, from then on. */
  | { topic: "runs"; due: number }
  /** Steps of these runs were recorded. */
  | { topic: "run_steps"; runs: readonly string[] }
  | { topic: "run_ended"; tenant: string; run: string }
  | { topic: "run_cancel"; run: string }
  /** The tools or triggers of an app's published flows have changed. */
  | { topic: "tools"; tenant: string; app: string }
  /** Notices may have been missed: whoever waits for something should look for itself. */
  | { topic: "gap" };

/** What the SQL of one engine does differently. Everything else is written in their common subset. */
export interface Dialect {
  /** Appended to a SELECT that must keep others from changing its rows until the commit. */
  forUpdate: string;
  /** As `forUpdate`, but passes over rows that another transaction holds. */
  skipLocked: string;
  /** Text in the order of its bytes, as SQLite has it: the cheapest, and the same everywhere. */
  TEXT: string;
  BLOB: string;
  /** Of a table that is kept in the order of its key: a row is written to one place, not to two. */
  CLUSTERED: string;
  /** The function that finds a text in another. */
  indexOf: "instr" | "strpos";
  /** Says 32 hexadecimal digits that nothing else has. */
  randomId: string;
  /** Names the columns of the table that is its parameter; no rows where there is none. */
  columns: string;
  /** Taken first by a migration, so that two processes starting at once do not both migrate. */
  migrationLock: string | undefined;
  maxParams: number;
  /** The most bytes that one row's blob may hold. */
  maxBlob: number;
  /** How packs of payloads are compressed; undefined where the host has nothing for it. */
  codec: Codec | undefined;
}

export type Verb<Result> = Generator<Step, Result, Row[]>;

/** Runs one statement and returns its rows. `?` stands for a parameter on every engine. */
export function* query<Result = Row>(sql: string, params: readonly Value[] = []): Verb<Result[]> {
  return (yield { kind: "query", sql, params }) as Result[];
}

export function* first<Result = Row>(
  sql: string,
  params: readonly Value[] = [],
): Verb<Result | undefined> {
  return (yield* query<Result>(sql, params))[0];
}

/** None where there is no such table. */
export function* columnsOf({ columns }: Dialect, table: string): Verb<string[]> {
  const rows = yield* query<{ name: string }>(columns, [table]);
  return rows.map(({ name }) => name);
}

/** Inserts many rows the way the engine does it fastest. */
export function* insert(
  table: string,
  columns: readonly string[],
  rows: readonly Value[][],
  onConflict = "",
): Verb<void> {
  if (rows.length > 0) yield { kind: "insert", table, columns, rows, onConflict };
}

export function* notify(notice: Notice): Verb<void> {
  yield { kind: "notify", notice };
}

/**
 * Keys for a look-up, in pieces that fit the engine. Each piece is filled up to a power of two by
 * repeating its last key, so that only a handful of distinct statements is ever prepared.
 */
function* pieces<Key>(keys: readonly Key[], most: number): Generator<Key[]> {
  const whole = 2 ** Math.floor(Math.log2(Math.min(256, most)));
  for (let start = 0; start < keys.length; start += whole) {
    const piece = keys.slice(start, start + whole);
    const size = 2 ** Math.ceil(Math.log2(piece.length));
    while (piece.length < size) piece.push(piece[piece.length - 1] as Key);
    yield piece;
  }
}

/** `(?,?,?)` for the `IN` of a statement that has `taken` parameters besides. */
export function* inLists(
  values: readonly Value[],
  { maxParams }: Dialect,
  taken: number,
): Generator<{ list: string; params: Value[] }> {
  for (const params of pieces(values, maxParams - taken))
    yield { list: `(${"?,".repeat(params.length).slice(0, -1)})`, params };
}

/** `(?,?),(?,?)` for the `VALUES` of a look-up by several columns. */
export function* keyRows(
  keys: readonly (readonly Value[])[],
  { maxParams }: Dialect,
): Generator<{ values: string; params: Value[] }> {
  const width = keys[0]?.length ?? 1;
  const row = `(${"?,".repeat(width).slice(0, -1)})`;
  for (const piece of pieces(keys, maxParams / width))
    yield { values: `${row},`.repeat(piece.length).slice(0, -1), params: piece.flat() };
}
