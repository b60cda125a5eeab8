/**
 * Revokes the tokens of a removed connection at its authorization server (RFC 7009). A deleted connection
 * with subscriptions keeps its row and its tokens until a visit has removed them from the server.
 */
import type { Log } from "../kernel/lib/log.ts";
import type { Seal } from "../kernel/lib/seal.ts";
import type { Timers } from "../kernel/lib/timers.ts";
import type { WebFetch } from "../kernel/lib/web-fetch.ts";
import type { Store } from "../store.ts";
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

/** Calls `remove`. If the connection has no row after that, revokes its tokens. */
export type RevokeRemoved = <Result>(
  connection: ConnectionKey,
  remove: () => Promise<Result>,
) => Promise<Result>;

export const createRevokeRemoved =
  (options: RevocationOptions & { store: Pick<Store, "getGrant"> }): RevokeRemoved =>
  async (connection, remove) => {
    const { id, tenant } = connection;
    const before = await options.store.getGrant(tenant, id);
    const result = await remove();
    if (before?.sealed == null) return result;
    // `remove` has succeeded, so an error here must not reach the caller. Then nothing is revoked.
    const after = await options.store.getGrant(tenant, id).catch(() => before);
    if (!after) await revokeTokens(options, connection, before.sealed);
    return result;
  };

/** Logs errors instead of throwing: the hub has deleted its copy of the tokens in any case. */
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
