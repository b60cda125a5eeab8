/**
 * SQLite, the embedded default: one file in WAL mode, with an fsync for every commit. Verbs run
 * synchronously; a batch of 64 events with payloads takes about three milliseconds. While another
 * process has locked the file, verbs wait in a queue, without blocking the event loop.
 */
import Database from "better-sqlite3";
import {
  describeDamage,
  type OperationLog,
  StorageDamaged,
  StorageUnavailable,
} from "../store/availability.ts";
import { createListeners, type Engine } from "../store/engine.ts";
import { migrate } from "../store/migrate.ts";
import { createPackLarge } from "../store/packs.ts";
import { tablesOf } from "../store/schema.ts";
import {
  type Dialect,
  insertSql,
  type Notice,
  type Row,
  runSync,
  type SyncSql,
  type Verb,
} from "../store/sql.ts";
import { createStoreCache, type StoreCache } from "../store/store-cache.ts";
import { bindVerbs, type StoreOf } from "../store/verb.ts";
import { sqliteDialect } from "./dialects.ts";
import {
  assertWritable,
  BUSY_TIMEOUT_MS,
  connect,
  createDatabaseFile,
  isBusy,
  PAGE_BYTES,
  readSize,
  retryWhileBusy,
  vacuum,
  vacuumFormerFile,
} from "./sqlite-file.ts";
import { zstd } from "./zstd.ts";

export const dialect: Dialect = {
  ...sqliteDialect,
  maxParams: 32_766,
  maxBlob: Number.MAX_SAFE_INTEGER,
  pageBytes: PAGE_BYTES,
  codec: zstd,
};

export interface SqliteOptions {
  /** How long a verb waits for the lock of another process. */
  busyTimeoutMs?: number;
  /** Whether the schema is created in a file without one. Otherwise such a file is refused. */
  mayCreate?: boolean;
  /**
   * Whether the file is rebuilt without free pages: `always`, or only if a former version has created it and
   * if that is quick. No other process may use the file.
   */
  vacuum?: "always" | "former" | undefined;
  /** Is notified of the result of every call. */
  outages?: OperationLog;
  /** Injected by benchmarks that measure reads without the cache. */
  cache?: StoreCache;
}

/** Undefined if the error is not about the file or its disk. */
function toUnavailable(file: string, error: unknown): StorageUnavailable | undefined {
  if (!(error instanceof Database.SqliteError)) return undefined;
  const { message, code } = error;
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code))
    return new StorageDamaged(describeDamage(file, `${message}, ${code}`));
  if (code === "SQLITE_FULL")
    return new StorageUnavailable(`${message} (${code}): free space on the disk of ${file}`);
  return /^SQLITE_(BUSY|LOCKED|IOERR|READONLY|CANTOPEN|PROTOCOL)/.test(code)
    ? new StorageUnavailable(`${message} (${code})`)
    : undefined;
}

export function openSqlite<Definition extends object>(
  definition: Definition,
  file: string,
  options: SqliteOptions = {},
): StoreOf<Definition> & Engine {
  const {
    busyTimeoutMs = BUSY_TIMEOUT_MS,
    mayCreate,
    vacuum: vacuumed,
    outages = { onFailure() {}, onSuccess() {} },
    cache = createStoreCache(),
  } = options;
  const tables = tablesOf(definition);
  const db = connect(file, options);
  const statements = new Map<string, Database.Statement>();
  const prepare = (sql: string) => {
    let statement = statements.get(sql);
    if (!statement) {
      statement = db.prepare(sql);
      statements.set(sql, statement);
    }
    return statement;
  };
  const sql: SyncSql = {
    query(text, params) {
      const statement = prepare(text);
      if (statement.reader) return statement.all(...params) as Row[];
      statement.run(...params);
      return [];
    },
    insert(insert) {
      const statement = prepare(insertSql(insert));
      // Spread arguments bind faster than an array.
      for (const row of insert.rows) statement.run(...row);
    },
  };

  const listeners = createListeners();
  let writeCount = 0;
  const inTransaction = db.transaction((verb: Verb<unknown>, notices: Notice[]) =>
    runSync(sql, verb, notices),
  );
  const run = <Result>(verb: () => Verb<Result>, writes: boolean): Result => {
    const notices: Notice[] = [];
    if (!writes) return runSync(sql, verb(), notices);
    writeCount += 1;
    const result = inTransaction.immediate(verb(), notices) as Result;
    listeners.notify(notices);
    return result;
  };

  let notConverted: string | undefined;
  try {
    retryWhileBusy(() => {
      run(() => migrate(dialect, tables, { mayCreate }), true);
      assertWritable(db);
    }, busyTimeoutMs);
    if (vacuumed === "always") vacuum(db);
    if (vacuumed === "former") notConverted = vacuumFormerFile(db, file);
  } catch (error) {
    db.close();
    throw error;
  }

  // Two queues, so that readers do not wait while only writers are blocked.
  const createQueue = (operation: { writes: boolean }) =>
    createBusyRetry({
      timeoutMs: busyTimeoutMs,
      isBusy,
      onSuccess: () => outages.onSuccess(operation),
      toError(error) {
        const unavailable = toUnavailable(file, error);
        if (!unavailable) return error;
        outages.onFailure(unavailable, operation);
        return unavailable;
      },
    });
  const reading = createQueue({ writes: false });
  const writing = createQueue({ writes: true });

  return {
    backend: "sqlite",
    tables,
    file: createDatabaseFile({ db, notConverted, run: writing.run, countWrites: () => writeCount }),
    measureSize: async () => readSize(db, file),
    packLarge: createPackLarge(dialect),
    ...bindVerbs(
      definition,
      { dialect, tables, cache },
      { run: (verb, writes) => (writes ? writing : reading).run(() => run(verb, writes)) },
    ),
    subscribe: listeners.subscribe,
    onCommit: listeners.subscribe,
    isDataError: (error) =>
      error instanceof Database.SqliteError &&
      /^SQLITE_(CONSTRAINT|TOOBIG|MISMATCH|RANGE)/.test(error.code),
    async close() {
      for (const queue of [reading, writing]) queue.rejectAll(new Error("The store was closed."));
      statements.clear();
      db.close();
    },
  };
}

interface WaitingCall {
  attempt: () => void;
  reject: (error: unknown) => void;
  /** The deadline. */
  until: number;
}

const RETRY_MS = 50;

/**
 * While the database is locked, retries a call until its timeout, without blocking the event loop. Later
 * calls wait in a queue, so that their order is kept and only the first one is retried.
 */
export function createBusyRetry({
  timeoutMs,
  isBusy,
  onSuccess = () => {},
  toError = (error) => error,
}: {
  timeoutMs: number;
  isBusy: (error: unknown) => boolean;
  onSuccess?: () => void;
  /** Converts an error to the one that the caller gets. */
  toError?: (error: unknown) => unknown;
}) {
  let waiting: WaitingCall[] = [];
  let timer: NodeJS.Timeout | undefined;

  const retryFirst = () => {
    timer = undefined;
    const [first] = waiting;
    if (!first) return;
    try {
      first.attempt();
      waiting.shift();
    } catch (error) {
      if (!isBusy(error)) {
        waiting.shift();
        first.reject(toError(error));
      } else {
        const now = performance.now();
        for (const { reject } of waiting.filter(({ until }) => until <= now))
          reject(toError(error));
        waiting = waiting.filter(({ until }) => until > now);
        return scheduleRetry(RETRY_MS);
      }
    }
    scheduleRetry(0);
  };
  const scheduleRetry = (ms: number) => {
    if (waiting.length > 0) timer ??= setTimeout(retryFirst, ms);
  };

  return {
    run<Result>(work: () => Result): Promise<Result> {
      return new Promise((resolve, reject) => {
        if (waiting.length === 0) {
          try {
            resolve(work());
            return onSuccess();
          } catch (error) {
            if (!isBusy(error) || timeoutMs <= 0) return reject(toError(error));
          }
        }
        const until = performance.now() + timeoutMs;
        const attempt = () => {
          resolve(work());
          onSuccess();
        };
        waiting.push({ attempt, reject, until });
        scheduleRetry(RETRY_MS);
      });
    },

    rejectAll(error: Error): void {
      clearTimeout(timer);
      for (const { reject } of waiting) reject(error);
      waiting = [];
    },
  };
}
