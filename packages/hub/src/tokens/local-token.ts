/**
 * The token for commands on the hub's own machine. It is valid while this process runs, and is never
 * stored: a copy of the database, or of an old file, grants nothing.
 */

import { EVERY_TENANT, type Token, type TokenLookup } from "../kernel/access/scopes.ts";
import { sha256Hex } from "../kernel/lib/hmac.ts";

/** The id of the local token is constant, so that a client keeps its claims when the hub restarts. */
const ID = "local";

/** Adds the local token to the stored tokens. */
export async function withLocalToken(
  store: TokenLookup,
  secret: string,
  now: number,
): Promise<TokenLookup> {
  const token: Token = {
    id: ID,
    kind: "token",
    parent: null,
    last_used_at: null,
    person: null,
    resource: null,
    name: "local command",
    hash: await sha256Hex(secret),
    scopes: ["admin"],
    tenants: [EVERY_TENANT],
    created_at: now,
    expires_at: null,
    revoked_at: null,
  };
  return {
    findToken: async (hash) => (hash === token.hash ? token : store.findToken(hash)),
    getToken: async (id, options) => (id === ID ? token : store.getToken(id, options)),
  };
}
