/** Connections: how to reach MCP servers, and what they offered when they were last checked. */

import { type Dialect, first, query, type Verb } from "../../kernel/store/sql.ts";
import { read, write } from "../../kernel/store/verb.ts";
import { lockOrCreateTenants } from "../../tenants/lock-tenants.ts";
import type { Connection } from "../model.ts";
import { expireTokensOfConnection } from "./callback-tokens.ts";
import {
  CONNECTION_FIELDS,
  type ConnectionRow,
  lockConnection,
  makeDue,
  parseFormer,
  readOffers,
  removeConnection,
  toConnection,
} from "./connection-rows.ts";
import {
  readSubscriptions,
  removeSubscriptionsOfConnection,
  restartSubscriptions,
  subscribeTriggers,
} from "./trigger-subscriptions.ts";

/** Creates a connection, due immediately. False if the id is taken. */
export const createConnection = write(
  "tenant",
  function* (
    {
      id,
      tenant,
      name,
      target,
      sealed,
      credentials,
    }: Pick<Connection, "id" | "tenant" | "name" | "target" | "sealed" | "credentials">,
    at: number,
  ): Verb<boolean> {
    // Serializes with `publishFlow`: one of the two finds the other's rows.
    yield* lockOrCreateTenants(this.dialect, [tenant], at);
    const created = yield* first(
      "INSERT INTO connections (id, tenant_id, name, target, sealed, credentials, next_at, due_at, created_at, updated_at) " +
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING id",
      [
        id,
        tenant,
        name,
        JSON.stringify(target),
        sealed,
        JSON.stringify(credentials),
        at,
        at,
        at,
        at,
      ],
    );
    if (!created) return false;
    yield* subscribeTriggers(this.dialect, tenant, id, at);
    yield* makeDue(id, at);
    return true;
  },
);

/**
 * Changes the fields that are set. A changed target or credential increases `revision`. If the target
 * changes, the tokens of the former server expire after a day. If the revision is not `ifRevision`,
 * changes nothing and returns "changed".
 */
export const updateConnection = write(
  "tenant",
  function* (
    tenant: string,
    id: string,
    {
      ifRevision,
      ...change
    }: Partial<Pick<Connection, "name" | "target" | "sealed" | "credentials">> & {
      ifRevision?: number;
    },
    at: number,
  ): Verb<Connection | "changed" | undefined> {
    const found = yield* lockConnection(this.dialect, tenant, id);
    if (!found || found.deleted) return undefined;
    if (ifRevision !== undefined && ifRevision !== found.revision) return "changed";
    const next = { ...found, ...change };
    const target = JSON.stringify(next.target);
    const isServerChanged = target !== JSON.stringify(found.target) || next.sealed !== found.sealed;
    const reset = isServerChanged
      ? "revision = revision + 1, status = 'unknown', error = NULL, attempt = 0, "
      : "";
    yield* query(
      `UPDATE connections SET ${reset}name = ?, target = ?, sealed = ?, credentials = ?, updated_at = ? WHERE id = ?`,
      [next.name, target, next.sealed, JSON.stringify(next.credentials), at, id],
    );
    if (target !== JSON.stringify(found.target)) yield* replaceServer(this.dialect, found, at);
    if (isServerChanged) {
      yield* restartSubscriptions(id, at);
      yield* makeDue(id, at);
    }
    return yield* getConnection.call(this, tenant, id);
  },
);

/** How many former servers are stored until a keeper has disabled their triggers. */
const MAX_FORMER = 5;

/** Stores the former server, so that its triggers are disabled, and makes its tokens expire. */
function* replaceServer(
  dialect: Dialect,
  { id, revision, target, sealed }: Connection,
  at: number,
): Verb<void> {
  yield* expireTokensOfConnection(dialect, id, at);
  if ((yield* readSubscriptions(id)).length === 0) return;
  const row = yield* first<{ former: string }>("SELECT former FROM connections WHERE id = ?", [id]);
  const former = [...parseFormer(row?.former ?? "[]"), { revision, target, sealed }];
  yield* query("UPDATE connections SET former = ? WHERE id = ?", [
    JSON.stringify(former.slice(-MAX_FORMER)),
    id,
  ]);
}

/**
 * Marks the connection as deleted, and its subscriptions as wanted `removed`. False if it does not
 * exist.
 */
export const deleteConnection = write(
  "tenant",
  function* (tenant: string, id: string, at: number): Verb<boolean> {
    const found = yield* lockConnection(this.dialect, tenant, id);
    if (!found || found.deleted) return false;
    yield* query("UPDATE connections SET deleted = 1, updated_at = ? WHERE id = ?", [at, id]);
    yield* makeDue(id, at);
    if (!(yield* removeSubscriptionsOfConnection(id, at))) yield* removeConnection(id);
    return true;
  },
);

/** Undefined if the connection does not exist or is marked as deleted. */
export const getConnection = read("tenant", function* (tenant: string, id: string) {
  const row = yield* first<ConnectionRow>(
    `SELECT ${CONNECTION_FIELDS} FROM connections WHERE id = ? AND tenant_id = ? AND deleted = 0`,
    [id, tenant],
  );
  return row && toConnection(row);
});

export const listConnections = read(
  "tenant",
  function* (tenant: string, after: string, limit: number): Verb<Connection[]> {
    const rows = yield* query<ConnectionRow>(
      `SELECT ${CONNECTION_FIELDS} FROM connections WHERE tenant_id = ? AND deleted = 0 AND id > ? ORDER BY id LIMIT ?`,
      [tenant, after, limit],
    );
    return rows.map(toConnection);
  },
);

export const getOffers = read("tenant", function* (tenant: string, id: string) {
  return (yield* getConnection.call(this, tenant, id)) && (yield* readOffers(id));
});

/** Makes the connection due at `at`, for example after `tools/list_changed`. */
export const touchConnection = write(
  "tenant",
  function* (tenant: string, id: string, at: number): Verb<void> {
    if (yield* getConnection.call(this, tenant, id)) yield* makeDue(id, at);
  },
);
