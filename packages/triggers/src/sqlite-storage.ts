/**
 * Stores the state in SQLite: in a database of better-sqlite3 or node:sqlite, or in the storage of a
 * Durable Object. Several processes may share a database file.
 */
import { isObject, type JsonObject } from "./json.ts";
import {
  credentialScope,
  type Delivery,
  SHARED,
  type StoredSubscription,
  type TriggerStorage,
} from "./storage.ts";

type Value = string | number | null;
type Row = Record<string, unknown>;

/** The part of a better-sqlite3 or node:sqlite database that is used here. */
interface StatementDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): {
    all(...values: Value[]): unknown[];
    run(...values: Value[]): unknown;
  };
}

/** The part of `ctx.storage` of a Durable Object that is used here. */
interface DurableObjectStorageLike {
  sql: { exec(sql: string, ...values: Value[]): { toArray(): unknown[] } };
  transactionSync<Result>(body: () => Result): Result;
}

export type SqliteDatabase = StatementDatabase | DurableObjectStorageLike;

interface Driver {
  rows(sql: string, ...values: Value[]): Row[];
  run(sql: string, ...values: Value[]): void;
  transaction<Result>(body: () => Result): Result;
}

const TABLES = [
  `CREATE TABLE IF NOT EXISTS mcp_trigger_subscriptions (
     connection_id TEXT NOT NULL, key TEXT NOT NULL, subscription_id TEXT, type TEXT NOT NULL,
     params TEXT NOT NULL, is_ready INTEGER NOT NULL, scope TEXT NOT NULL,
     PRIMARY KEY (connection_id, key))`,
  `CREATE TABLE IF NOT EXISTS mcp_trigger_credentials (
     connection_id TEXT NOT NULL, scope TEXT NOT NULL, callback_url TEXT NOT NULL,
     callback_token TEXT NOT NULL, PRIMARY KEY (connection_id, scope))`,
  `CREATE TABLE IF NOT EXISTS mcp_trigger_outbox (
     seq INTEGER PRIMARY KEY AUTOINCREMENT, connection_id TEXT NOT NULL, subscription TEXT NOT NULL,
     id TEXT NOT NULL, type TEXT NOT NULL, body TEXT NOT NULL, created_at INTEGER NOT NULL,
     attempt INTEGER NOT NULL, due_at INTEGER NOT NULL, claimed_until INTEGER NOT NULL,
     UNIQUE (connection_id, subscription, id))`,
  `CREATE INDEX IF NOT EXISTS mcp_trigger_outbox_queue
     ON mcp_trigger_outbox (connection_id, subscription, seq)`,
];

const SELECT_SUBSCRIPTIONS = `SELECT s.*, c.callback_url, c.callback_token FROM mcp_trigger_subscriptions s
  JOIN mcp_trigger_credentials c ON c.connection_id = s.connection_id AND c.scope = s.scope`;

/** Joins each subscription with its oldest delivery: one index lookup each, however many are pending. */
const HEADS = `mcp_trigger_subscriptions s JOIN mcp_trigger_outbox o ON o.seq =
  (SELECT min(seq) FROM mcp_trigger_outbox
   WHERE connection_id = s.connection_id AND subscription = s.key)`;

export function sqliteStorage(database: SqliteDatabase): TriggerStorage {
  const driver = "sql" in database ? durableObjectDriver(database) : statementDriver(database);
  const { rows, run, transaction } = driver;
  for (const table of TABLES) run(table);

  const findSubscription = (connectionId: string, key: string) =>
    rows(`${SELECT_SUBSCRIPTIONS} WHERE s.connection_id = ? AND s.key = ?`, connectionId, key).map(
      toSubscription,
    )[0];
  const findCredentials = (connectionId: string, scope: string) =>
    rows(
      "SELECT * FROM mcp_trigger_credentials WHERE connection_id = ? AND scope = ?",
      connectionId,
      scope,
    ).map((row) => ({
      callbackUrl: String(row.callback_url),
      callbackToken: String(row.callback_token),
    }))[0];
  const countPending = () => Number(rows("SELECT count(*) AS n FROM mcp_trigger_outbox")[0]?.n);

  return {
    isDurable: true,

    async listSubscriptions(connectionId) {
      return (
        connectionId === undefined
          ? rows(`${SELECT_SUBSCRIPTIONS} ORDER BY s.rowid`)
          : rows(`${SELECT_SUBSCRIPTIONS} WHERE s.connection_id = ? ORDER BY s.rowid`, connectionId)
      ).map(toSubscription);
    },

    async getSubscription(connectionId, key) {
      return findSubscription(connectionId, key);
    },

    async saveSubscription(subscription, newCredentials, now) {
      const { connectionId, key, subscriptionId, type, params, isReady } = subscription;
      const scope = credentialScope(subscription);
      return transaction(() => {
        const credentials =
          newCredentials ??
          findCredentials(connectionId, scope) ??
          findCredentials(connectionId, SHARED);
        if (!credentials) return false;
        run(
          `INSERT INTO mcp_trigger_credentials VALUES (?, ?, ?, ?) ON CONFLICT (connection_id, scope)
           DO UPDATE SET callback_url = excluded.callback_url, callback_token = excluded.callback_token`,
          connectionId,
          scope,
          credentials.callbackUrl,
          credentials.callbackToken,
        );
        run(
          `INSERT INTO mcp_trigger_subscriptions VALUES (?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (connection_id, key) DO UPDATE
           SET type = excluded.type, params = excluded.params, is_ready = excluded.is_ready`,
          connectionId,
          key,
          subscriptionId,
          type,
          JSON.stringify(params),
          isReady ? 1 : 0,
          scope,
        );
        if (newCredentials)
          run(
            `UPDATE mcp_trigger_outbox SET due_at = min(due_at, ?) WHERE connection_id = ?
             AND subscription IN (SELECT key FROM mcp_trigger_subscriptions
                                  WHERE connection_id = ? AND scope = ?)`,
            now,
            connectionId,
            connectionId,
            scope,
          );
        return true;
      });
    },

    async removeSubscription(connectionId, key, ifToken) {
      return transaction(() => {
        const subscription = findSubscription(connectionId, key);
        if (!subscription) return undefined;
        if (ifToken !== undefined && subscription.callbackToken !== ifToken) return undefined;
        run(
          "DELETE FROM mcp_trigger_subscriptions WHERE connection_id = ? AND key = ?",
          connectionId,
          key,
        );
        run(
          "DELETE FROM mcp_trigger_outbox WHERE connection_id = ? AND subscription = ?",
          connectionId,
          key,
        );
        run(
          `DELETE FROM mcp_trigger_credentials WHERE connection_id = ? AND scope NOT IN
             (SELECT scope FROM mcp_trigger_subscriptions WHERE connection_id = ?)`,
          connectionId,
          connectionId,
        );
        return subscription;
      });
    },

    async enqueue(deliveries, limit) {
      return transaction(() => {
        const pending = deliveries.filter(({ connectionId, subscription }) =>
          findSubscription(connectionId, subscription),
        );
        const added = pending.filter(
          ({ connectionId, subscription, id }) =>
            rows(
              "SELECT 1 FROM mcp_trigger_outbox WHERE connection_id = ? AND subscription = ? AND id = ?",
              connectionId,
              subscription,
              id,
            ).length === 0,
        );
        if (countPending() + added.length > limit) return undefined;
        for (const { connectionId, subscription, id, type, body, createdAt } of added)
          run(
            `INSERT INTO mcp_trigger_outbox (connection_id, subscription, id, type, body, created_at,
               attempt, due_at, claimed_until) VALUES (?, ?, ?, ?, ?, ?, 0, ?, 0)`,
            connectionId,
            subscription,
            id,
            type,
            body,
            createdAt,
            createdAt,
          );
        return pending;
      });
    },

    async claimDue({ now, until, limit, delivered }) {
      return transaction(() => {
        for (const seq of delivered) run("DELETE FROM mcp_trigger_outbox WHERE seq = ?", seq);
        const due = rows(
          `SELECT o.* FROM ${HEADS}
           WHERE o.due_at <= ? AND o.claimed_until <= ? ORDER BY o.seq LIMIT ?`,
          now,
          now,
          limit,
        ).map(toDelivery);
        for (const { seq } of due)
          run("UPDATE mcp_trigger_outbox SET claimed_until = ? WHERE seq = ?", until, seq);
        return due;
      });
    },

    async postpone(seq, attempt, dueAt) {
      run(
        "UPDATE mcp_trigger_outbox SET attempt = ?, due_at = ?, claimed_until = 0 WHERE seq = ?",
        attempt,
        dueAt,
        seq,
      );
    },

    async removeDelivery(seq) {
      run("DELETE FROM mcp_trigger_outbox WHERE seq = ?", seq);
    },

    async pending() {
      const [row] = rows(`SELECT min(max(o.due_at, o.claimed_until)) AS at FROM ${HEADS}`);
      return { count: countPending(), nextAt: typeof row?.at === "number" ? row.at : undefined };
    },
  };
}

function toSubscription(row: Row): StoredSubscription {
  return {
    connectionId: String(row.connection_id),
    key: String(row.key),
    subscriptionId: row.subscription_id === null ? null : String(row.subscription_id),
    type: String(row.type),
    params: JSON.parse(String(row.params)) as JsonObject,
    isReady: row.is_ready === 1,
    callbackUrl: String(row.callback_url),
    callbackToken: String(row.callback_token),
  };
}

const toDelivery = (row: Row): Delivery => ({
  seq: Number(row.seq),
  connectionId: String(row.connection_id),
  subscription: String(row.subscription),
  id: String(row.id),
  type: String(row.type),
  body: String(row.body),
  createdAt: Number(row.created_at),
  attempt: Number(row.attempt),
});

const toRows = (rows: unknown[]): Row[] => rows.filter(isObject);

function statementDriver(database: StatementDatabase): Driver {
  return {
    rows: (sql, ...values) => toRows(database.prepare(sql).all(...values)),
    run: (sql, ...values) => void database.prepare(sql).run(...values),
    transaction(body) {
      database.exec("BEGIN IMMEDIATE");
      try {
        const result = body();
        database.exec("COMMIT");
        return result;
      } catch (error) {
        database.exec("ROLLBACK");
        throw error;
      }
    },
  };
}

const durableObjectDriver = (storage: DurableObjectStorageLike): Driver => ({
  rows: (sql, ...values) => toRows(storage.sql.exec(sql, ...values).toArray()),
  run: (sql, ...values) => void storage.sql.exec(sql, ...values).toArray(),
  transaction: (body) => storage.transactionSync(body),
});
