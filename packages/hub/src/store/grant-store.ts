/**
 * What a person has granted a connection at its authorization server: one sealed document per
 * connection. It is apart from the connection, because refreshing a token changes neither its revision
 * nor its subscriptions.
 */

export interface ConnectionGrant {
  /** The tokens, encrypted by the caller; null if there are none. See connections/grant.ts. */
  sealed: string | null;
  /** Why the last grant ended, if the authorization server ended it. */
  error: string | null;
  /** Increases with each change. */
  version: number;
}

/** An authorization that a person has begun in a browser. */
interface PendingAuthorization {
  /** SHA-256 of the parameter `state`, in hexadecimal. */
  state: string;
  /** The id of the session or token that began it. */
  by: string;
  /** What is needed to complete it, encrypted by the caller. */
  sealed: string;
  expires_at: number;
}

export interface GrantStore {
  getGrant(tenant: string, connection: string): Promise<ConnectionGrant | undefined>;
  /** Replaces a former one of the connection. False if there is no such connection. */
  beginAuthorization(
    tenant: string,
    connection: string,
    pending: PendingAuthorization,
  ): Promise<boolean>;
  /** Returns `sealed` of the pending authorization, once. Undefined if `state` or `by` is another one. */
  takeAuthorization(
    tenant: string,
    connection: string,
    taken: Pick<PendingAuthorization, "state" | "by"> & { now: number },
  ): Promise<string | undefined>;
  /** Lets one process refresh this version. False if it has changed, or another one is refreshing it. */
  leaseGrant(
    tenant: string,
    connection: string,
    lease: { by: string; version: number; now: number; until: number },
  ): Promise<boolean>;
  /**
   * Stores the grant, and ends the lease. With `ifVersion` only if nothing has changed since. Unless a
   * token was refreshed, the connection becomes due, so that its status is updated. False if it was
   * not stored.
   */
  saveGrant(
    tenant: string,
    connection: string,
    grant: Pick<ConnectionGrant, "sealed" | "error"> & { ifVersion?: number },
    at: number,
  ): Promise<boolean>;
}
