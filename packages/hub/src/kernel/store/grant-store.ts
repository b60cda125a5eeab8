/**
 * The OAuth tokens with which the hub calls the MCP server of a connection, as one encrypted document per
 * connection. A person has granted them at the authorization server of that MCP server. They are stored
 * apart from the connection, because refreshing a token must not change the connection's revision.
 * oauth-store.ts has the grants of the hub's own authorization server.
 */

export interface ConnectionGrant {
  /** The tokens, encrypted by the caller; null if there are none. See connections/grant.ts. */
  sealed: string | null;
  /** Why the authorization server ended the last grant; null if it has not. */
  error: string | null;
  /** Increases with each change. */
  version: number;
}

/** An authorization that a person has begun in a browser. */
interface PendingAuthorization {
  /** SHA-256 of the parameter `state`, in hexadecimal. */
  state: string;
  /** The id of the session or token that began the authorization. */
  by: string;
  /** The data that completes the authorization, encrypted by the caller. */
  sealed: string;
  expires_at: number;
}

export interface ConnectionGrantStore {
  getGrant(tenant: string, connection: string): Promise<ConnectionGrant | undefined>;
  /** Replaces an earlier authorization of the connection. False if the connection does not exist. */
  beginAuthorization(
    tenant: string,
    connection: string,
    pending: PendingAuthorization,
  ): Promise<boolean>;
  /**
   * Removes the pending authorization and returns its `sealed`. Returns undefined if it has another
   * `state` or `by`, or has expired.
   */
  takeAuthorization(
    tenant: string,
    connection: string,
    expected: Pick<PendingAuthorization, "state" | "by"> & { now: number },
  ): Promise<string | undefined>;
  /**
   * Leases the grant, so that only one process refreshes its token. False if the grant has another
   * version, or if another process has leased it.
   */
  leaseGrant(
    tenant: string,
    connection: string,
    lease: { by: string; version: number; now: number; until: number },
  ): Promise<boolean>;
  /**
   * Stores the grant, and ends the lease. With `ifVersion`, stores it only if the grant still has this
   * version. Unless the call stores a refreshed token (`ifVersion` and `sealed` are set), the connection
   * becomes due, so that its status is updated. Returns whether the grant was stored.
   */
  saveGrant(
    tenant: string,
    connection: string,
    grant: Pick<ConnectionGrant, "sealed" | "error"> & { ifVersion?: number },
    at: number,
  ): Promise<boolean>;
}
