/** Connections: how to reach MCP servers, and what they offered when they were last checked. */
import type { Connection, ConnectionStore, Offers } from "../../kernel/store/connection-store.ts";
import { lockOrCreateTenants } from "../../kernel/store/lock-tenants.ts";
import { type Dialect, first, query, type Verb } from "../../kernel/store/sql.ts";
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

export function* createConnection(
  dialect: Dialect,
  {
    id,
    tenant,
    name,
    target,
    sealed,
    credentials,
  }: Parameters<ConnectionStore["createConnection"]>[0],
  at: number,
): Verb<boolean> {
  // Serializes with `publishFlow`: one of the two finds the other's rows.
  yield* lockOrCreateTenants(dialect, [tenant], at);
  const created = yield* first(
    "INSERT INTO connections (id, tenant_id, name, target, sealed, credentials, next_at, due_at, created_at, updated_at) " +
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING RETURNING id",
    [id, tenant, name, JSON.stringify(target), sealed, JSON.stringify(credentials), at, at, at, at],
  );
  if (!created) return false;
  yield* subscribeTriggers(dialect, tenant, id, at);
  yield* makeDue(id, at);
  return true;
}

export function* updateConnection(
  dialect: Dialect,
  tenant: string,
  id: string,
  { ifRevision, ...change }: Parameters<ConnectionStore["updateConnection"]>[2],
  at: number,
): Verb<Connection | "changed" | undefined> {
  const found = yield* lockConnection(dialect, tenant, id);
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
  if (target !== JSON.stringify(found.target)) yield* replaceServer(dialect, found, at);
  if (isServerChanged) {
    yield* restartSubscriptions(id, at);
    yield* makeDue(id, at);
  }
  return yield* getConnection(tenant, id);
}

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

export function* deleteConnection(
  dialect: Dialect,
  tenant: string,
  id: string,
  at: number,
): Verb<boolean> {
  const found = yield* lockConnection(dialect, tenant, id);
  if (!found || found.deleted) return false;
  yield* query("UPDATE connections SET deleted = 1, updated_at = ? WHERE id = ?", [at, id]);
  yield* makeDue(id, at);
  if (!(yield* removeSubscriptionsOfConnection(id, at))) yield* removeConnection(id);
  return true;
}

export function* getConnection(tenant: string, id: string): Verb<Connection | undefined> {
  const row = yield* first<ConnectionRow>(
    `SELECT ${CONNECTION_FIELDS} FROM connections WHERE id = ? AND tenant_id = ? AND deleted = 0`,
    [id, tenant],
  );
  return row && toConnection(row);
}

export function* listConnections(tenant: string, after: string, limit: number): Verb<Connection[]> {
  const rows = yield* query<ConnectionRow>(
    `SELECT ${CONNECTION_FIELDS} FROM connections WHERE tenant_id = ? AND deleted = 0 AND id > ? ORDER BY id LIMIT ?`,
    [tenant, after, limit],
  );
  return rows.map(toConnection);
}

export function* getOffers(tenant: string, id: string): Verb<Offers | undefined> {
  return (yield* getConnection(tenant, id)) && (yield* readOffers(id));
}

export function* touchConnection(tenant: string, id: string, at: number): Verb<void> {
  if (yield* getConnection(tenant, id)) yield* makeDue(id, at);
}
