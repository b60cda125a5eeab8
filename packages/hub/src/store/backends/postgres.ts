/**
 * PostgreSQL, for any number of replicas. Each write is one transaction on one pooled connection. A
 * commit sends its notices with NOTIFY; a separate connection LISTENs for those of all replicas.
 */
import pg from "pg";
import { createListeners } from "../listeners.ts";
import { migrate } from "../migrations.ts";
import type { Notice, Row, Verb } from "../sql.ts";
import type { Store } from "../store.ts";
import { createStoreCache, type StoreCache } from "../store-cache.ts";
import { bindVerbs, verbTable } from "../verbs/index.ts";
import { CLOSE_TIMEOUT_MS, commitSql, destroySocket, listen } from "./postgres-listen.ts";
import { dialect, statements, types } from "./postgres-statement.ts";

export interface PostgresOptions {
  poolSize?: number;
  /** A statement fails after this time, and its connection is closed. */
  queryTimeoutMs?: number;
  onError?: (error: Error) => void;
  /** Injected by benchmarks that measure reads without the cache. */
  cache?: StoreCache;
}

export async function openPostgres(
  url: string,
  {
    poolSize = 10,
    queryTimeoutMs = 30_000,
    onError = () => {},
    cache = createStoreCache(),
  }: PostgresOptions = {},
): Promise<Store> {
  const connection = {
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    // A client-side timeout, since a frozen or unreachable server cannot enforce one.
    query_timeout: queryTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
  const pool = new pg.Pool({
    ...connection,
    max: poolSize,
    types,
    application_name: "signalbox",
    // If a replica dies while it holds locks, the others must not wait long.
    options: "-c idle_in_transaction_session_timeout=15000 -c lock_timeout=10000",
  });
  // The pool replaces a broken idle connection, and a broken connection in use fails its verb. Both
  // need a listener for `error`: without one, the process would crash.
  pool.on("error", onError);
  const clients = new Set<pg.ClientBase>();
  pool.on("connect", (client) => {
    clients.add(client);
    client.on("error", () => {});
  });
  pool.on("remove", (client) => clients.delete(client));
  const listeners = createListeners();
  const commitListeners = createListeners();

  const run = async <Result>(verb: () => Verb<Result>, writes: boolean): Promise<Result> => {
    for (let attempt = 1; ; attempt += 1) {
      const client = await pool.connect();
      let broken: Error | undefined;
      try {
        const notices: Notice[] = [];
        if (!writes) return await runVerb(client, verb(), notices);
        await client.query("BEGIN");
        const result = await runVerb(client, verb(), notices);
        await client.query(commitSql(notices));
        commitListeners.notify(notices);
        return result;
      } catch (error) {
        if (isQueryTimeout(error)) broken = error;
        else if (writes)
          await client.query("ROLLBACK").catch((failed: Error) => {
            broken = failed;
          });
        if (!isRetryable(error) || attempt >= 5) throw error;
      } finally {
        client.release(broken);
      }
    }
  };

  try {
    await run(() => migrate(dialect), true);
  } catch (error) {
    await pool.end();
    throw error;
  }
  const listening = listen(connection, listeners.notify, onError);
  await listening.ready;
  // After a lost connection the database may have been replaced, for example by a backup.
  listeners.subscribe(({ topic }) => topic === "gap" && cache.clear());

  return {
    backend: "postgres",
    ...bindVerbs(verbTable(dialect, cache), run),
    subscribe: listeners.subscribe,
    onCommit: commitListeners.subscribe,
    isDataError,
    async close() {
      // A database that does not respond must not prevent this process from exiting.
      setTimeout(() => clients.forEach(destroySocket), CLOSE_TIMEOUT_MS).unref();
      await Promise.all([listening.stop(), pool.end()]);
    },
  };
}

const sqlState = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

/** Class 22: invalid value; 23: constraint violation; 54: engine limit exceeded. */
const isDataError = (error: unknown): boolean => /^(22|23|54)/.test(sqlState(error));

/** The driver's message for `query_timeout`. The connection is still executing the statement. */
const isQueryTimeout = (error: unknown): error is Error =>
  error instanceof Error && error.message === "Query read timeout";

/** Serialization failure and deadlock: the transaction should be retried. */
const isRetryable = (error: unknown) => ["40001", "40P01"].includes(sqlState(error));

async function runVerb<Result>(
  client: pg.ClientBase,
  verb: Verb<Result>,
  notices: Notice[],
): Promise<Result> {
  let rows: Row[] = [];
  for (;;) {
    const { done, value } = verb.next(rows);
    if (done) return value;
    rows = [];
    if (value.kind === "notify") notices.push(value.notice);
    else
      for (const statement of statements(value)) rows = (await client.query<Row>(statement)).rows;
  }
}
