/**
 * The SQLite of a Durable Object: one object, one tenant, one thread. Cloudflare delays each response
 * until the writes before it are durable, so changes survive a crash here too.
 */

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
  type Value,
  type Verb,
} from "../store/sql.ts";
import { createStoreCache } from "../store/store-cache.ts";
import { bindVerbs, type StoreOf } from "../store/verb.ts";
import { sqliteDialect } from "./dialects.ts";

/** The part of `DurableObjectStorage` that the store uses. */
export interface ObjectStorage {
  sql: {
    exec(sql: string, ...params: unknown[]): { toArray(): Row[] };
    readonly databaseSize: number;
  };
  transactionSync<Result>(work: () => Result): Result;
  /** Resolves when all writes so far are durable. */
  sync(): Promise<void>;
}

const dialect: Dialect = {
  ...sqliteDialect,
  // Cloudflare's limits: parameters of one statement, and 2 MB for one row.
  maxParams: 100,
  maxBlob: 1_900_000,
  pageBytes: 4096,
  codec: undefined,
};

export function openDurableObject<Definition extends object>(
  definition: Definition,
  storage: ObjectStorage,
): StoreOf<Definition> & Engine {
  const tables = tablesOf(definition);
  const sql: SyncSql = {
    query: (text, params) => storage.sql.exec(text, ...params.map(toBindable)).toArray(),
    insert(insert) {
      const text = insertSql(insert);
      for (const row of insert.rows) storage.sql.exec(text, ...row.map(toBindable));
    },
  };
  const listeners = createListeners();
  const run = <Result>(verb: () => Verb<Result>): Result => {
    const notices: Notice[] = [];
    const result = storage.transactionSync(() => runSync(sql, verb(), notices));
    listeners.notify(notices);
    return result;
  };

  run(() => migrate(dialect, tables));

  return {
    backend: "durable-object",
    tables,
    packLarge: createPackLarge(dialect),
    ...bindVerbs(
      definition,
      { dialect, tables, cache: createStoreCache() },
      // A claimed run may block the object until it is killed. Only a durable claim counts its deaths.
      { run: async (verb) => run(verb), sync: () => storage.sync() },
    ),
    async measureSize() {
      const bytes = storage.sql.databaseSize;
      return { disk: bytes, used: bytes, free: null, wal: null };
    },
    subscribe: listeners.subscribe,
    onCommit: listeners.subscribe,
    isDataError,
    async close() {},
  };
}

/** Tests the message, because an error loses its code in an RPC call. */
export const isDataError = (error: unknown): boolean =>
  error instanceof Error && /SQLITE_(CONSTRAINT|TOOBIG|MISMATCH|RANGE)/.test(error.message);

/** The storage accepts only whole buffers, not views of them. */
const toBindable = (value: Value): unknown =>
  value instanceof Uint8Array
    ? value.byteLength === value.buffer.byteLength
      ? value.buffer
      : value.slice().buffer
    : value;
