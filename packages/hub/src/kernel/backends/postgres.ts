/**
 * PostgreSQL, for any number of replicas. Each write is one transaction on one pooled connection. A
 * commit sends its notices with NOTIFY; a separate connection LISTENs for those of all replicas.
 */
import pg from "pg";
import { type OperationLog, StorageUnavailable } from "../store/availability.ts";
import { createListeners, type Engine } from "../store/engine.ts";
import { migrate } from "../store/migrate.ts";
import { createPackLarge } from "../store/packs.ts";
import { tablesOf } from "../store/schema.ts";
import type { Notice, Verb } from "../store/sql.ts";
import { createStoreCache, type StoreCache } from "../store/store-cache.ts";
import { bindVerbs, type StoreOf } from "../store/verb.ts";
import {
  isConflict,
  isConnectionClosed,
  isDataError,
  isIdleTimeout,
  isLockTimeout,
  isQueryTimeout,
  messageOf,
  toStorageError,
} from "./postgres-errors.ts";
import { CLOSE_TIMEOUT_MS, commitSql, destroySocket, listen } from "./postgres-listen.ts";
import { createPipeline, dialect, types } from "./postgres-pipeline.ts";
import { createPulse, type WatchedCall } from "./postgres-pulse.ts";

export interface PostgresOptions {
  poolSize?: number;
  /** A statement fails after this time, and its connection is closed. */
  queryTimeoutMs?: number;
  /**
   * How long a transaction waits for a lock. Must be shorter than `idleTimeoutMs`: otherwise a transaction
   * of a frozen replica that waits for a lock could get it when the server ends the one before it.
   */
  lockTimeoutMs?: number;
  /**
   * A replica that freezes in a transaction holds locks. The server ends its transaction after this
   * time, so that the other replicas wait about a second.
   */
  idleTimeoutMs?: number;
  /**
   * The maximum number of attempts of a transaction that the server rolls back, such as after a
   * conflict.
   */
  maxAttempts?: number;
  /** Called with the error of a connection that no call uses. */
  onError?: (error: Error) => void;
  /** Is notified of the result of every call. */
  outages?: OperationLog;
  /** Injected by benchmarks that measure reads without the cache. */
  cache?: StoreCache;
}

/**
 * A migration of a large table takes long, and the replicas that start wait for it, so its queries have no
 * timeout. It waits for a lock only briefly: meanwhile, the queries of other replicas wait behind it.
 */
const MIGRATION = { query_timeout: 0, lockMs: 10_000, idleMs: 15_000, max: 1 };

export async function openPostgres<Definition extends object>(
  definition: Definition,
  url: string,
  {
    poolSize = 10,
    queryTimeoutMs = 30_000,
    lockTimeoutMs = 500,
    idleTimeoutMs = 1_000,
    maxAttempts = 8,
    onError = () => {},
    outages = { onFailure() {}, onSuccess() {} },
    cache = createStoreCache(),
  }: PostgresOptions = {},
): Promise<StoreOf<Definition> & Engine> {
  const tables = tablesOf(definition);
  const connection = {
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    // A client-side timeout, since a frozen or unreachable server cannot enforce one.
    query_timeout: queryTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
  const clients = new Set<pg.ClientBase>();
  /** Why a connection ended while it executed no statement. */
  const endedBy = new WeakMap<pg.ClientBase, Error>();
  const openPool = ({ idleMs, lockMs, ...config }: PoolOptions) => {
    const pool = new pg.Pool({
      ...connection,
      types,
      application_name: "signalbox",
      pipeline: true,
      options: `-c idle_in_transaction_session_timeout=${idleMs} -c lock_timeout=${lockMs}`,
      ...config,
    });
    // The pool replaces a broken idle connection, and a broken connection in use fails its verb. Both
    // need a listener for `error`: without one, the process would crash.
    pool.on("error", (error) => onError(new Error(messageOf(error))));
    pool.on("connect", (client) => {
      clients.add(client);
      client.on("error", (error) => endedBy.set(client, error));
    });
    pool.on("remove", (client) => clients.delete(client));
    return pool;
  };
  const pool = openPool({ max: poolSize, idleMs: idleTimeoutMs, lockMs: lockTimeoutMs });
  const listeners = createListeners();
  const commitListeners = createListeners();
  const pulse = createPulse({
    connection,
    onLost: () => clients.forEach(destroySocket),
  });

  const runWithRetries = async <Result>(
    verb: () => Verb<Result>,
    { writes, from = pool }: RunOptions,
    { isAbandoned }: WatchedCall,
  ): Promise<Result> => {
    for (let attempt = 1; ; attempt += 1) {
      const client = await from.connect();
      let broken: Error | undefined;
      let isCommitting = false;
      try {
        if (isAbandoned()) throw new StorageUnavailable("the caller has already received an error");
        const pipeline = createPipeline(client);
        const notices: Notice[] = [];
        if (!writes) return await pipeline.run(verb(), notices);
        pipeline.send("BEGIN");
        const result = await pipeline.run(verb(), notices);
        isCommitting = true;
        await pipeline.query(commitSql(notices));
        commitListeners.notify(notices);
        return result;
      } catch (error) {
        // After a timeout the driver itself ends the connection.
        const ended = isQueryTimeout(error) ? error : endedBy.get(client);
        const cause = ended ?? error;
        if (ended) broken = error as Error;
        else if (writes)
          await client.query("ROLLBACK").catch((failed: Error) => {
            broken = failed;
          });
        // After these errors, the transaction is certainly rolled back: the server does not time out
        // a transaction that it is committing.
        const isRolledBack =
          isConflict(error) ||
          isLockTimeout(error) ||
          isIdleTimeout(cause) ||
          (writes && !isCommitting && isConnectionClosed(cause));
        if (!isRolledBack || attempt >= maxAttempts) throw cause;
      } finally {
        client.release(broken);
      }
    }
  };
  const execute = async <Result>(verb: () => Verb<Result>, options: RunOptions) => {
    try {
      const result = await pulse.watch((call) => runWithRetries(verb, options, call));
      outages.onSuccess(options);
      return result;
    } catch (thrown) {
      const error = toStorageError(thrown);
      if (error instanceof StorageUnavailable) outages.onFailure(error, options);
      throw error;
    }
  };
  const run = <Result>(verb: () => Verb<Result>, writes: boolean): Promise<Result> =>
    execute(verb, { writes });

  const migrations = openPool(MIGRATION);
  try {
    await execute(() => migrate(dialect, tables), { writes: true, from: migrations });
  } catch (error) {
    pulse.stop();
    await pool.end();
    throw error;
  } finally {
    await migrations.end();
  }
  // Some services that are compatible with PostgreSQL have no timelines, and reject the expression.
  const { timeline } = dialect;
  const hasTimelines = await pool.query(`SELECT ${timeline}`).then(
    () => true,
    (error: unknown) => toStorageError(error) instanceof StorageUnavailable,
  );
  pulse.open();
  const listening = listen(connection, listeners.notify, (error) =>
    onError(new Error(messageOf(error))),
  );
  await listening.ready;
  // After a lost connection the database may have been replaced, for example by a backup.
  listeners.subscribe(cache.clear, ["gap"]);

  return {
    backend: "postgres",
    tables,
    packLarge: createPackLarge(dialect),
    ...bindVerbs(
      definition,
      { dialect: { ...dialect, timeline: hasTimelines ? timeline : undefined }, tables, cache },
      { run },
    ),
    async measureSize() {
      const { rows } = await pool.query<{ bytes: number }>(
        "SELECT pg_database_size(current_database()) AS bytes",
      );
      const bytes = Number(rows[0]?.bytes);
      return { disk: bytes, used: bytes, free: null, wal: null };
    },
    subscribe: listeners.subscribe,
    onCommit: commitListeners.subscribe,
    isDataError,
    async close() {
      pulse.stop();
      // A database that does not respond must not prevent this process from exiting.
      setTimeout(() => clients.forEach(destroySocket), CLOSE_TIMEOUT_MS).unref();
      await Promise.all([listening.stop(), pool.end()]);
    },
  };
}

interface RunOptions {
  writes: boolean;
  from?: pg.Pool;
}

interface PoolOptions extends Pick<pg.PoolConfig, "max" | "query_timeout"> {
  /** How long a transaction may be idle, and may wait for a lock. */
  idleMs: number;
  lockMs: number;
}
