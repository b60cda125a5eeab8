/**
 * Any number of replicas on one PostgreSQL. A verb is one transaction on one connection; commits
 * announce themselves with NOTIFY, and a connection of its own LISTENs for those of all replicas.
 */
import pg from "pg";
import { createListeners } from "../listeners.ts";
import { migrate } from "../migrations.ts";
import type { Notice, Row, Verb } from "../sql.ts";
import type { Store } from "../store.ts";
import { createStoreCache, type StoreCache } from "../store-cache.ts";
import { bindVerbs, verbTable } from "../verbs/index.ts";
import { commitWith, cutOff, GOODBYE_MS, listen } from "./postgres-listen.ts";
import { dialect, statements, types } from "./postgres-statement.ts";

export interface PostgresOptions {
  poolSize?: number;
  /** After this long without an answer a statement fails, and its connection is given up. */
  queryTimeoutMs?: number;
  onError?: (error: Error) => void;
  /** For whoever wants to know what a call takes without it. */
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
    // Counted here: a server that is frozen, or cut off, cannot count for us.
    query_timeout: queryTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
  const pool = new pg.Pool({
    ...connection,
    max: poolSize,
    types,
    application_name: "signalbox",
    // Should a replica die without a word while it holds a tenant's row, the others must not wait long.
    options: "-c idle_in_transaction_session_timeout=15000 -c lock_timeout=10000",
  });
  // An idle connection that breaks is replaced by the pool. One in use fails the verb that uses it,
  // but may break between two statements: without a listener either would end the process.
  pool.on("error", onError);
  const clients = new Set<pg.ClientBase>();
  pool.on("connect", (client) => {
    clients.add(client);
    client.on("error", () => {});
  });
  pool.on("remove", (client) => clients.delete(client));
  const listeners = createListeners();

  const run = async <Result>(verb: () => Verb<Result>, writes: boolean): Promise<Result> => {
    for (let attempt = 1; ; attempt += 1) {
      const client = await pool.connect();
      let broken: Error | undefined;
      try {
        const notices: Notice[] = [];
        if (!writes) return await walk(client, verb(), notices);
        await client.query("BEGIN");
        const result = await walk(client, verb(), notices);
        await client.query(commitWith(notices));
        return result;
      } catch (error) {
        if (isSilence(error)) broken = error;
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
  const listening = listen(connection, listeners.tell, onError);
  await listening.ready;
  // What it was cut off from may not be what it finds again.
  listeners.subscribe(({ topic }) => topic === "gap" && cache.clear());

  return {
    backend: "postgres",
    ...bindVerbs(verbTable(dialect, cache), run),
    subscribe: listeners.subscribe,
    isDataError,
    async close() {
      // A database that does not even say goodbye must not keep this process from ending.
      setTimeout(() => clients.forEach(cutOff), GOODBYE_MS).unref();
      await Promise.all([listening.stop(), pool.end()]);
    },
  };
}

const sqlState = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

/** Class 22 is a bad value, 23 a broken constraint, 54 something too large for the engine. */
const isDataError = (error: unknown): boolean => /^(22|23|54)/.test(sqlState(error));

/** The driver's own words when a statement took too long; the connection is still busy with it. */
const isSilence = (error: unknown): error is Error =>
  error instanceof Error && error.message === "Query read timeout";

/** Deadlock and serialization failure: PostgreSQL asks for another try. */
const isRetryable = (error: unknown) => ["40001", "40P01"].includes(sqlState(error));

async function walk<Result>(
  client: pg.ClientBase,
  verb: Verb<Result>,
  notices: Notice[],
): Promise<Result> {
  let rows: Row[] = [];
  for (;;) {
    const { done, value: step } = verb.next(rows);
    if (done) return step;
    rows = [];
    if (step.kind === "notify") notices.push(step.notice);
    else for (const statement of statements(step)) rows = (await client.query<Row>(statement)).rows;
  }
}
