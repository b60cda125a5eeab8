/** Lets a person authorize the hub at the authorization server of a connection, and sign out again. */
import { sha256Hex } from "../kernel/lib/hmac.ts";
import { randomSecret } from "../kernel/lib/random-secret.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import type { Seal } from "../kernel/lib/seal.ts";
import type { Timers } from "../kernel/lib/timers.ts";
import type { Store } from "../store.ts";
import { withAuthorizationFetch } from "./authorization-fetch.ts";
import { type OAuthSignIn, signInOf, unsealCredentials } from "./credentials.ts";
import { isFlowFor, type PendingFlow, unsealFlow } from "./grant.ts";
import type { Connection } from "./model.ts";
import type { AuthorizationResponse } from "./oauth-flow.ts";
import { type RevocationOptions, revokeTokens } from "./revoke-removed.ts";

export interface AuthorizationsOptions extends RevocationOptions {
  store: Store;
  seal: Seal;
  timers: Pick<Timers, "now" | "after">;
}

/** The page of the web UI that the authorization server redirects to. */
export const AUTHORIZED_PATH = "/connections/authorized";
/** The hub's client metadata document. */
export const CLIENT_METADATA_PATH = "/oauth/client.json";

const PENDING_MS = 10 * 60_000;

export type Authorizations = ReturnType<typeof createAuthorizations>;

export function createAuthorizations(options: AuthorizationsOptions) {
  const { store, seal, timers } = options;
  const { now } = timers;

  return {
    /** Only the session `by` can complete the authorization. `hubUrl` is the hub's URL for the browser. */
    async begin(
      connection: Connection,
      { by, hubUrl }: { by: string; hubUrl: string },
    ): Promise<{ url: string; expires_at: number }> {
      const { id, tenant } = connection;
      const { server, auth } = await readSignIn(connection, seal);
      // The page of the web UI reads the connection's id from `state`.
      const state = `${id}.${randomSecret("")}`;
      const { startFlow } = await import("./oauth-flow.ts");
      const { url, pending } = await withAuthorizationFetch(options, (fetch) =>
        startFlow({
          server,
          auth,
          state,
          redirectUri: `${hubUrl}${AUTHORIZED_PATH}`,
          clientMetadataUrl: hubUrl.startsWith("https:")
            ? `${hubUrl}${CLIENT_METADATA_PATH}`
            : undefined,
          fetch,
        }),
      );
      const expires_at = now() + PENDING_MS;
      const sealed = await seal.seal(JSON.stringify(pending));
      const authorization = { state: await sha256Hex(state), by, sealed, expires_at };
      if (!(await store.beginAuthorization(tenant, id, authorization)))
        throw new RequestError("not_found", "connection", "The connection was deleted meanwhile.");
      return { url, expires_at };
    },

    async complete(
      connection: Connection,
      { by, ...response }: AuthorizationResponse & { by: string; state: string },
    ): Promise<void> {
      const { id, tenant } = connection;
      const { server, auth } = await readSignIn(connection, seal);
      const state = await sha256Hex(response.state);
      const sealed = await store.takeAuthorization(tenant, id, { state, by, now: now() });
      if (sealed === undefined)
        throw new RequestError(
          "conflict",
          "state",
          "was used, has expired, or belongs to another session: choose Authorize again",
        );
      const pending = await unsealFlow<PendingFlow>(sealed, seal);
      if (!isFlowFor(pending, server, auth))
        throw new RequestError(
          "conflict",
          "connection",
          "has changed since the authorization began: choose Authorize again",
        );
      const { redeemCode } = await import("./oauth-flow.ts");
      const grant = await withAuthorizationFetch(options, (fetch) =>
        redeemCode(pending, response, fetch, now),
      );
      const granted = await seal.seal(JSON.stringify(grant));
      await store.saveGrant(tenant, id, { sealed: granted, error: null }, now());
    },

    /** Deletes the tokens, then tries to revoke them at the authorization server. */
    async signOut(connection: Connection): Promise<void> {
      const { id, tenant } = connection;
      await readSignIn(connection, seal); // throws if the connection has no OAuth sign-in
      const grant = await store.getGrant(tenant, id);
      await store.saveGrant(tenant, id, { sealed: null, error: null }, now());
      if (grant?.sealed != null) await revokeTokens(options, connection, grant.sealed);
    },
  };
}

async function readSignIn(
  { target, sealed }: Connection,
  seal: Seal,
): Promise<{ server: string; auth: OAuthSignIn }> {
  const auth = signInOf(await unsealCredentials(sealed, seal));
  if (!auth || !("url" in target))
    throw new RequestError(
      "invalid",
      "connection",
      'has no OAuth sign-in: set auth to { "type": "oauth" } first',
    );
  return { server: target.url, auth };
}
