/**
 * PostgreSQL, for any number of replicas. Each write is one transaction on one pooled connection. A
 * commit sends its notices with NOTIFY; a separate connection LISTENs for those of all replicas.
 */
import pg from "pg";
import { createListeners } from "../listeners.ts";
import { migrate } from "../migrations.ts";
import type { OutageLog } from "../outage-log.ts";
import type { Notice, Row, Verb } from "../sql.ts";
import { StorageUnavailable } from "../storage-unavailable.ts";
import type { Store } from "../store.ts";
import { createStoreCache, type StoreCache } from "../store-cache.ts";
import { bindVerbs, verbTable } from "../verbs/index.ts";
import {
  isConflict,
  isDataError,
  isIdleTimeout,
  isLockTimeout,
  isQueryTimeout,
  messageOf,
  toStorageError,
  VerbFailed,
} from "./postgres-errors.ts";
import { CLOSE_TIMEOUT_MS, commitSql, destroySocket, listen } from "./postgres-listen.ts";
import { createPing } from "./postgres-ping.ts";
import { createPulse, type Operation } from "./postgres-pulse.ts";
import { dialect, statements, types } from "./postgres-statement.ts";

export interface PostgresOptions {
  poolSize?: number;
  /** A statement fails after this time, and its connection is closed. */
  queryTimeoutMs?: number;
  /** Called with errors of connections that no call waits for. */
  onError?: (error: Error) => void;
  /** Gets the result of every call. */
  outages?: OutageLog;
  /** Injected by benchmarks that measure reads without the cache. */
  cache?: StoreCache;
}

/**
 * A replica that freezes in a transaction holds locks. The server ends its transaction after this
 * time, so that the other replicas wait about a second.
 */
const LOCK_MS = 1_000;
const CONFLICT_ATTEMPTS = 5;

/** A migration takes longer than other transactions, and the replicas that start wait for it. */
const MIGRATION_SETTINGS =
  "SET LOCAL lock_timeout = '60s'; SET LOCAL idle_in_transaction_session_timeout = '15s'";

export async function openPostgres(
  url: string,
  {
    poolSize = 10,
    queryTimeoutMs = 30_000,
    onError = () => {},
    outages = { failed() {}, succeeded() {} },
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
    options: `-c idle_in_transaction_session_timeout=${LOCK_MS} -c lock_timeout=${LOCK_MS}`,
  });
  // The pool replaces a broken idle connection, and a broken connection in use fails its verb. Both
  // need a listener for `error`: without one, the process would crash.
  pool.on("error", (error) => onError(new Error(messageOf(error))));
  const clients = new Set<pg.ClientBase>();
  /** Why a connection ended while it executed no statement. */
  const endedBy = new WeakMap<pg.ClientBase, Error>();
  pool.on("connect", (client) => {
    clients.add(client);
    client.on("error", (error) => endedBy.set(client, error));
  });
  pool.on("remove", (client) => clients.delete(client));
  const listeners = createListeners();
  const commitListeners = createListeners();
  const pinging = createPing(connection);
  const pulse = createPulse({
    ping: pinging.ping,
    onLost: () => clients.forEach(destroySocket),
  });

  const runOnce = async <Result>(
    verb: () => Verb<Result>,
    { writes, settings }: RunOptions,
    { isAbandoned }: Operation,
  ): Promise<Result> => {
    for (let attempt = 1; ; attempt += 1) {
      const client = await pool.connect();
      let broken: Error | undefined;
      let isCommitting = false;
      try {
        if (isAbandoned()) throw new StorageUnavailable("the request was given up");
        const notices: Notice[] = [];
        if (!writes) return await runVerb(client, verb(), notices);
        await client.query(settings === undefined ? "BEGIN" : `BEGIN; ${settings}`);
        const result = await runVerb(client, verb(), notices);
        isCommitting = true;
        await client.query(commitSql(notices));
        commitListeners.notify(notices);
        return result;
      } catch (error) {
        const cause = endedBy.get(client) ?? error;
        if (isQueryTimeout(error) || cause !== error) broken = error as Error;
        else if (writes)
          await client.query("ROLLBACK").catch((failed: Error) => {
            broken = failed;
          });
        const isUndone = isLockTimeout(error) || (isIdleTimeout(cause) && !isCommitting);
        if (!(isConflict(error) || isUndone) || attempt >= CONFLICT_ATTEMPTS) throw cause;
      } finally {
        client.release(broken);
      }
    }
  };
  const execute = async <Result>(verb: () => Verb<Result>, options: RunOptions) => {
    try {
      const result = await pulse.watch((operation) => runOnce(verb, options, operation));
      outages.succeeded();
      return result;
    } catch (thrown) {
      const error = toStorageError(thrown);
      if (error instanceof StorageUnavailable) outages.failed(error);
      throw error;
    }
  };
  const run = <Result>(verb: () => Verb<Result>, writes: boolean): Promise<Result> =>
    execute(verb, { writes });

  try {
    await execute(() => migrate(dialect), { writes: true, settings: MIGRATION_SETTINGS });
  } catch (error) {
    pulse.stop();
    pinging.stop();
    await pool.end();
    throw error;
  }
  const listening = listen(connection, listeners.notify, (error) =>
    onError(new Error(messageOf(error))),
  );
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
      pulse.stop();
      pinging.stop();
      // A database that does not respond must not prevent this process from exiting.
      setTimeout(() => clients.forEach(destroySocket), CLOSE_TIMEOUT_MS).unref();
      await Promise.all([listening.stop(), pool.end()]);
    },
  };
}

interface RunOptions {
  writes: boolean;
  /** Statements that follow `BEGIN`. */
  settings?: string;
}

async function runVerb<Result>(
  client: pg.ClientBase,
  verb: Verb<Result>,
  notices: Notice[],
): Promise<Result> {
  let rows: Row[] = [];
  for (;;) {
    const { done, value } = advance(verb, rows);
    if (done) return value;
    rows = [];
    if (value.kind === "notify") notices.push(value.notice);
    else
      for (const statement of statements(value)) rows = (await client.query<Row>(statement)).rows;
  }
}

function advance<Result>(verb: Verb<Result>, rows: Row[]): ReturnType<Verb<Result>["next"]> {
  try {
    return verb.next(rows);
  } catch (error) {
    throw new VerbFailed("A verb failed.", { cause: error });
  }
}
