/**
 * Revokes the tokens of a deleted connection at its authorization server (RFC 7009). A deleted connection
 * that has subscriptions is removed by a later visit, which needs the tokens until then.
 */
import type { Log } from "../lib/log.ts";
import type { Seal } from "../lib/seal.ts";
import type { Timers } from "../lib/timers.ts";
import type { WebFetch } from "../lib/web-fetch.ts";
import type { GrantStore } from "../store/grant-store.ts";
import { withAuthorizationFetch } from "./authorization-fetch.ts";
import { type Grant, unsealFlow } from "./grant.ts";

export interface RevocationOptions {
  seal: Pick<Seal, "unseal">;
  fetch: WebFetch;
  timers: Pick<Timers, "after">;
  log: Pick<Log, "warn">;
}

interface ConnectionKey {
  id: string;
  tenant: string;
}

/** Calls `remove`, and revokes the tokens of the connection if it has no row after that. */
export type RevokeRemoved = <Result>(
  connection: ConnectionKey,
  remove: () => Promise<Result>,
) => Promise<Result>;

export const createRevokeRemoved =
  (options: RevocationOptions & { store: Pick<GrantStore, "getGrant"> }): RevokeRemoved =>
  async (connection, remove) => {
    const { id, tenant } = connection;
    const before = await options.store.getGrant(tenant, id);
    const result = await remove();
    if (before?.sealed == null) return result;
    // If the database fails now, the deletion is stored nevertheless.
    const after = await options.store.getGrant(tenant, id).catch(() => before);
    if (!after) await revokeTokens(options, connection, before.sealed);
    return result;
  };

/** Does not throw: the hub has deleted the tokens, and they expire at the authorization server. */
export async function revokeTokens(
  options: RevocationOptions,
  { id, tenant }: ConnectionKey,
  sealed: string,
): Promise<void> {
  try {
    const grant = await unsealFlow<Grant>(sealed, options.seal);
    const { revokeGrant } = await import("./oauth-flow.ts");
    await withAuthorizationFetch(options, (fetch) => revokeGrant(grant, fetch));
  } catch (error) {
    const message = `the tokens were not revoked: ${(error as Error).message}`;
    options.log.warn({ connection: id, tenant }, message);
  }
}
