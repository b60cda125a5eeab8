/** Grants of connections, and authorizations that a person has begun. */

import { type Dialect, first, query, storableText, type Verb } from "../../kernel/store/sql.ts";
import { read, write } from "../../kernel/store/verb.ts";
import type { ConnectionGrant, PendingAuthorization } from "../model.ts";
import { lockConnection, makeDue } from "./connection-rows.ts";

export const getGrant = read("tenant", function* (tenant: string, connection: string) {
  return yield* first<ConnectionGrant>(
    "SELECT sealed, error, version FROM connection_grants WHERE connection_id = ? AND tenant_id = ?",
    [connection, tenant],
  );
});

/**
 * Locks the connection, and creates the row of its grant if there is none. False if there is no
 * connection.
 */
function* lockGrant(dialect: Dialect, tenant: string, connection: string): Verb<boolean> {
  if (!(yield* lockConnection(dialect, tenant, connection))) return false;
  yield* query(
    "INSERT INTO connection_grants (connection_id, tenant_id, version) VALUES (?, ?, 0) ON CONFLICT (connection_id) DO NOTHING",
    [connection, tenant],
  );
  return true;
}

/** Replaces an earlier authorization of the connection. False if the connection does not exist. */
export const beginAuthorization = write(
  "tenant",
  function* (
    tenant: string,
    connection: string,
    { state, by, sealed, expires_at }: PendingAuthorization,
  ): Verb<boolean> {
    if (!(yield* lockGrant(this.dialect, tenant, connection))) return false;
    yield* query(
      "UPDATE connection_grants SET state = ?, state_by = ?, state_sealed = ?, state_expires_at = ? WHERE connection_id = ?",
      [state, by, sealed, expires_at, connection],
    );
    return true;
  },
);

/**
 * Removes the pending authorization and returns its `sealed`. Returns undefined if it has another
 * `state` or `by`, or has expired.
 */
export const takeAuthorization = write(
  "tenant",
  function* (
    tenant: string,
    connection: string,
    { state, by, now }: Pick<PendingAuthorization, "state" | "by"> & { now: number },
  ): Verb<string | undefined> {
    const found = yield* first<{ state_sealed: string }>(
      "SELECT state_sealed FROM connection_grants WHERE connection_id = ? AND tenant_id = ? " +
        `AND state = ? AND state_by = ? AND state_expires_at > ?${this.dialect.forUpdate}`,
      [connection, tenant, state, by, now],
    );
    if (!found) return undefined;
    yield* query(
      "UPDATE connection_grants SET state = NULL, state_by = NULL, state_sealed = NULL, state_expires_at = NULL WHERE connection_id = ?",
      [connection],
    );
    return found.state_sealed;
  },
);

/**
 * Leases the grant, so that only one process refreshes its token. False if the grant has another
 * version, or if another process has leased it.
 */
export const leaseGrant = write(
  "tenant",
  function* (
    tenant: string,
    connection: string,
    { by, version, now, until }: { by: string; version: number; now: number; until: number },
  ): Verb<boolean> {
    const leased = yield* first(
      "UPDATE connection_grants SET leased_by = ?, leased_until = ? WHERE connection_id = ? AND tenant_id = ? " +
        "AND version = ? AND (leased_by IS NULL OR leased_until <= ?) RETURNING connection_id",
      [by, until, connection, tenant, version, now],
    );
    return leased !== undefined;
  },
);

/**
 * Stores the grant, and ends the lease. With `ifVersion`, stores it only if the grant still has this
 * version. Unless the call stores a refreshed token (`ifVersion` and `sealed` are set), the connection
 * becomes due, so that its status is updated. Returns whether the grant was stored.
 */
export const saveGrant = write(
  "tenant",
  function* (
    tenant: string,
    connection: string,
    {
      sealed,
      error,
      ifVersion,
    }: Pick<ConnectionGrant, "sealed" | "error"> & { ifVersion?: number },
    at: number,
  ): Verb<boolean> {
    if (!(yield* lockGrant(this.dialect, tenant, connection))) return false;
    const saved = yield* first(
      "UPDATE connection_grants SET sealed = ?, error = ?, version = version + 1, leased_by = NULL, leased_until = NULL " +
        `WHERE connection_id = ?${ifVersion === undefined ? "" : " AND version = ?"} RETURNING connection_id`,
      [
        sealed,
        error === null ? null : storableText(error),
        connection,
        ...(ifVersion === undefined ? [] : [ifVersion]),
      ],
    );
    if (!saved) return false;
    const isRefresh = ifVersion !== undefined && sealed !== null;
    if (!isRefresh) yield* makeDue(connection, at);
    return true;
  },
);
