export type Value = string | number | null | Uint8Array;
export type Row = Record<string, unknown>;

/** A request of a verb to its backend. */
export type Operation =
  | { kind: "query"; sql: string; params: readonly Value[] }
  /** A statement without rows. The backend need not wait for it before it sends the next one. */
  | { kind: "execute"; sql: string; params: readonly Value[] }
  | ({ kind: "insert" } & Insert)
  | { kind: "notify"; notice: Notice }
  /** Returns a list with the rows of each operation: `Row[][]`. */
  | { kind: "all"; operations: readonly Operation[] };

export interface Insert {
  table: string;
  columns: readonly string[];
  rows: readonly Value[][];
  /** An `ON CONFLICT` clause. Without it, an existing row is an error. */
  onConflict?: string;
}

/** Sent to the listeners of all replicas after the transaction has committed. */
export type Notice =
  /** Events were appended; `seq` is that of the newest. */
  | { topic: "events"; tenant: string; seq: number }
  /** Events were claimed, released or marked as processed, or their trigger status has changed. */
  | { topic: "changed"; tenant: string; ids: readonly string[] }
  /** Runs can be claimed from `due` on. */
  | { topic: "runs"; due: number }
  /** Events that are not matched yet can be claimed from `due` on. */
  | { topic: "matching"; due: number }
  /** A schedule is due at this time. */
  | { topic: "schedules"; due: number }
  /** Steps of these runs were saved; see `enableStepNotices`. */
  | { topic: "run_steps"; runs: readonly string[] }
  /** `took`: the milliseconds since the run first started; null if it never started. */
  | {
      topic: "run_ended";
      tenant: string;
      run: string;
      status: "succeeded" | "failed" | "cancelled";
      took: number | null;
    }
  /** The worker of the run must cancel it. */
  | { topic: "run_cancel"; run: string }
  /** The draft of a flow was saved, or the flow was published or deleted. */
  | { topic: "flow"; tenant: string; flow: string; revision: number }
  /** The tools or triggers of an app's published flows have changed. */
  | { topic: "tools"; tenant: string; app: string }
  /** The states of subscriptions of these flows have changed. */
  | { topic: "subscriptions"; tenant: string; flows: readonly string[] }
  /** Connections can be leased from `due` on, or their subscriptions have changed. */
  | { topic: "connections"; due: number }
  /** The deletion of the tenant has started. */
  | { topic: "tenant_deleted"; tenant: string }
  /** Notices may have been lost. Listeners must query the store for changes. */
  | { topic: "gap" };

/** Compresses stored payloads. */
export interface Codec {
  name: string;
  /** The result shares no memory with the argument. */
  encode(bytes: Uint8Array): Uint8Array;
  /** Encodes a large payload in another thread. */
  encodeLarge(bytes: Uint8Array): Promise<Uint8Array>;
  /** `maxSize` is the size of the output buffer: the result has at most so many bytes. */
  decode(bytes: Uint8Array, maxSize: number): Uint8Array;
  /** Decodes a large payload in another thread. */
  decodeLarge(bytes: Uint8Array, maxSize: number): Promise<Uint8Array>;
}

/** The differences between the engines. All other SQL uses their common subset. */
export interface Dialect {
  /** Appended to a SELECT that locks its rows until the commit. Empty if only one transaction can write. */
  forUpdate: string;
  /** Like `forUpdate`, but skips rows that another transaction has locked. */
  skipLocked: string;
  /** A text type that is compared bytewise, which is fast, and the same on all engines. */
  TEXT: string;
  BLOB: string;
  /** Stores a table in the order of its primary key, without a separate index. Empty if not supported. */
  CLUSTERED: string;
  /** The function that returns the position of a substring. */
  indexOf: "instr" | "strpos";
  /** An expression for 32 random hexadecimal digits. */
  randomId: string;
  /**
   * An expression for two hexadecimal digits of the server's timeline, which changes when a standby is promoted
   * or a backup is restored to a point in time. Undefined if the server has no timelines.
   */
  timeline: string | undefined;
  /** A query for the column names of a table; no rows if the table does not exist. */
  columns: string;
  /** A query for the columns, keys and indexes of a table, as `part`; no rows if the table does not exist. */
  tableParts: string;
  /**
   * Locks the database, so that only one of several starting processes migrates it. Undefined if every
   * write transaction locks the database.
   */
  migrationLock: string | undefined;
  /** The maximum number of parameters of one statement. */
  maxParams: number;
  /** The maximum size of a blob, in bytes. */
  maxBlob: number;
  /** The size of the pages that only one large value uses; undefined if large values share pages. */
  pageBytes: number | undefined;
  /** Compresses packs of payloads; undefined if the host has no compression. */
  codec: Codec | undefined;
}

export type Verb<Result> = Generator<Operation, Result, Row[]>;

/**
 * Yields verbs that only read. Each runs separately, and is repeated while the storage is unavailable.
 * Other verbs can run between them.
 */
export type Reads<Result> = Generator<() => Verb<void>, Result, void>;

/** Runs one statement and returns its rows. The placeholder of a parameter is `?` on every engine. */
export function* query<Result = Row>(sql: string, params: readonly Value[] = []): Verb<Result[]> {
  return (yield { kind: "query", sql, params }) as Result[];
}

/** Runs one statement and returns its first row. */
export function* first<Result = Row>(
  sql: string,
  params: readonly Value[] = [],
): Verb<Result | undefined> {
  return (yield* query<Result>(sql, params))[0];
}

/** Runs a statement whose rows are not needed. */
export function* execute(sql: string, params: readonly Value[] = []): Verb<void> {
  yield { kind: "execute", sql, params };
}

/**
 * Runs two verbs that do not depend on each other. The next operations of both are sent in one round
 * trip, that of `left` first.
 */
export function* both<Left, Right>(left: Verb<Left>, right: Verb<Right>): Verb<[Left, Right]> {
  let leftStep = left.next([]);
  let rightStep = right.next([]);
  while (!leftStep.done && !rightStep.done) {
    const operations = [leftStep.value, rightStep.value];
    const rows = (yield { kind: "all", operations }) as unknown as [Row[], Row[]];
    leftStep = left.next(rows[0]);
    rightStep = right.next(rows[1]);
  }
  while (!leftStep.done) leftStep = left.next(yield leftStep.value);
  while (!rightStep.done) rightStep = right.next(yield rightStep.value);
  return [leftStep.value, rightStep.value];
}

/** Like `both`, for any number of verbs. */
export function* together<Result>(verbs: readonly Verb<Result>[]): Verb<Result[]> {
  const entries = verbs.map((verb) => ({ verb, step: verb.next([]) }));
  for (;;) {
    const running = entries.filter(({ step }) => !step.done);
    if (running.length === 0) return entries.map(({ step }) => step.value as Result);
    const operations = running.map(({ step }) => step.value as Operation);
    const rows = (yield { kind: "all", operations }) as unknown as Row[][];
    for (const [index, entry] of running.entries())
      entry.step = entry.verb.next(rows[index] as Row[]);
  }
}

/** Returns the column names of a table; none if the table does not exist. */
export function* readColumns({ columns }: Dialect, table: string): Verb<string[]> {
  const rows = yield* query<{ name: string }>(columns, [table]);
  return rows.map(({ name }) => name);
}

/** Inserts many rows, by the fastest method of each backend. */
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
 * Splits the keys of a query into chunks of at most `maxKeys`, and of at most 256. Each chunk is padded
 * to a power of two by repeating its last key, so that few distinct statements are prepared.
 */
function* chunks<Key>(keys: readonly Key[], maxKeys: number): Generator<Key[]> {
  const maxLength = 2 ** Math.floor(Math.log2(Math.min(256, maxKeys)));
  for (let start = 0; start < keys.length; start += maxLength) {
    const chunk = keys.slice(start, start + maxLength);
    const size = 2 ** Math.ceil(Math.log2(chunk.length));
    while (chunk.length < size) chunk.push(chunk[chunk.length - 1] as Key);
    yield chunk;
  }
}

/**
 * Yields a list such as `(?,?,?)` for `IN`, with its parameters, for each chunk of the values.
 * `otherParams` is the number of the statement's other parameters.
 */
export function* inLists(
  values: readonly Value[],
  { maxParams }: Dialect,
  otherParams: number,
): Generator<{ list: string; params: Value[] }> {
  for (const params of chunks(values, maxParams - otherParams))
    yield { list: `(${"?,".repeat(params.length).slice(0, -1)})`, params };
}

/**
 * Yields rows such as `(?,?),(?,?)` for `VALUES`, with their parameters, for each chunk of the keys. They
 * select by several columns, and must be the statement's only parameters.
 */
export function* keyRows(
  keys: readonly (readonly Value[])[],
  { maxParams }: Dialect,
): Generator<{ values: string; params: Value[] }> {
  const width = keys[0]?.length ?? 1;
  const row = `(${"?,".repeat(width).slice(0, -1)})`;
  for (const chunk of chunks(keys, maxParams / width))
    yield { values: `${row},`.repeat(chunk.length).slice(0, -1), params: chunk.flat() };
}

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
    rows = perform(sql, value, notices);
  }
}

const NO_ROWS: Row[] = [];

function perform(sql: SyncSql, operation: Operation, notices: Notice[]): Row[] {
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
      return operation.operations.map((inner) => perform(sql, inner, notices)) as unknown as Row[];
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

/** Removes NUL characters, which PostgreSQL rejects in texts. A server may return them. */
export const storableText = (text: string): string => text.replaceAll("\0", "");
