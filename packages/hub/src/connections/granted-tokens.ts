/**
 * Access tokens that a person has granted. All processes share them through the store. Each use reads
 * the row, so that signing out takes effect immediately. Authorization servers may accept a refresh token
 * only once, so one process leases the grant and refreshes it, and the others wait for its result.
 */
import type { Seal } from "../kernel/lib/seal.ts";
import type { Timers } from "../kernel/lib/timers.ts";
import type { WebFetch } from "../kernel/lib/web-fetch.ts";
import type { Store } from "../store.ts";
import { AUTHORIZATION_TIMEOUT_MS, withAuthorizationFetch } from "./authorization-fetch.ts";
import type { OAuthSignIn } from "./credentials.ts";
import { type Grant, isFlowFor, needsAuthorization, unsealFlow } from "./grant.ts";
import { refreshGrant } from "./oauth-flow.ts";
import type { OAuthTokens } from "./oauth-token.ts";

export interface GrantedTokensOptions {
  connection: { id: string; tenant: string };
  /** The URL of the MCP server. */
  server: string;
  auth: OAuthSignIn;
  store: Pick<Store, "getGrant" | "leaseGrant" | "saveGrant">;
  seal: Seal;
  fetch: WebFetch;
  timers: Pick<Timers, "now" | "after">;
}

const LEASE_MS = 2 * AUTHORIZATION_TIMEOUT_MS;
const POLL_MS = 100;

interface StoredGrant {
  version: number;
  sealed: string;
  grant: Grant;
}

export function createGrantedTokens(options: GrantedTokensOptions): OAuthTokens {
  const { connection, server, auth, store, seal, timers } = options;
  const { tenant, id } = connection;
  const by = crypto.randomUUID();
  let cached: StoredGrant | undefined;
  let rejected: string | undefined;
  let renewal: Promise<string> | undefined;

  async function read(): Promise<StoredGrant> {
    const row = await store.getGrant(tenant, id);
    if (!row || row.sealed === null)
      throw needsAuthorization(row?.error ?? "The hub is not authorized at this server yet.");
    const { sealed, version } = row;
    if (cached?.version !== version)
      cached = { version, sealed, grant: await unsealFlow<Grant>(sealed, seal) };
    if (!isFlowFor(cached.grant, server, auth))
      throw needsAuthorization("The URL or the OAuth client has changed.");
    return cached;
  }

  const isUsable = ({ tokens: { access, refreshAt } }: Grant): boolean =>
    access !== rejected && (refreshAt === null || timers.now() < refreshAt);

  async function renew(): Promise<string> {
    for (;;) {
      const stored = await read();
      const { refresh, access } = stored.grant.tokens;
      if (isUsable(stored.grant)) return access;
      if (refresh === undefined) {
        rejected = undefined; // the next call sends the token to the server again
        throw needsAuthorization("The access token is no longer valid, and cannot be refreshed.");
      }
      const lease = { by, version: stored.version, now: timers.now() };
      if (await store.leaseGrant(tenant, id, { ...lease, until: lease.now + LEASE_MS }))
        await refreshLeased(stored, refresh);
      else await new Promise<void>((resolve) => void timers.after(POLL_MS, resolve));
    }
  }

  /** Stores the new tokens, unless the person has authorized again or signed out meanwhile. */
  async function refreshLeased(
    { grant, version, sealed }: StoredGrant,
    refresh: string,
  ): Promise<void> {
    const save = (newSealed: string | null, error: string | null) =>
      store.saveGrant(tenant, id, { sealed: newSealed, error, ifVersion: version }, timers.now());
    const granted = { ...grant, tokens: { ...grant.tokens, refresh } };
    try {
      const refreshed = await withAuthorizationFetch(options, (fetch) =>
        refreshGrant(granted, fetch, timers.now),
      );
      if ("ended" in refreshed) await save(null, `${refreshed.ended} Authorize the hub again.`);
      else await save(await seal.seal(JSON.stringify(refreshed)), null);
    } catch (error) {
      await save(sealed, null); // releases the lease
      throw error;
    }
  }

  return {
    async getToken() {
      const { grant } = await read();
      if (isUsable(grant)) return grant.tokens.access;
      renewal ??= renew().finally(() => {
        renewal = undefined;
      });
      return renewal;
    },
    reject(token) {
      rejected = token;
    },
  };
}
