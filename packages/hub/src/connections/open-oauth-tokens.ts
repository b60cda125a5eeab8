import { discoverOAuthServerInfo } from "@modelcontextprotocol/client";
import type { BoundedMap } from "../kernel/lib/bounded-map.ts";
import type { Seal } from "../kernel/lib/seal.ts";
import type { Timers } from "../kernel/lib/timers.ts";
import type { WebFetch } from "../kernel/lib/web-fetch.ts";
import { ConnectionError } from "./connection-error.ts";
import { type Credentials, clientOf, type OAuthClient, signInOf } from "./credentials.ts";
import { createGrantedTokens, type GrantedTokensOptions } from "./granted-tokens.ts";
import type { Connection } from "./model.ts";
import { createOAuthTokens, type OAuthTokens } from "./oauth-token.ts";

export interface OpenOAuthOptions {
  fetch: WebFetch;
  timers: Pick<Timers, "now" | "monotonic" | "after">;
  /** OAuth tokens by connection and revision. They outlive clients, which are closed when idle. */
  tokens: BoundedMap<string, OAuthTokens>;
  /** The stored tokens that people have granted. Without it, `authorization_code` is not supported. */
  grants?: { store: GrantedTokensOptions["store"]; seal: Seal } | undefined;
}

/** The access tokens of a connection; undefined if it does not use OAuth. */
export function openOAuthTokens(
  connection: Pick<Connection, "id" | "tenant" | "revision">,
  credentials: Credentials,
  url: URL,
  options: OpenOAuthOptions,
): OAuthTokens | undefined {
  const { fetch, timers, tokens, grants } = options;
  const key = `${connection.id} ${connection.revision}`;
  const client = clientOf(credentials);
  const auth = signInOf(credentials);
  const created =
    tokens.get(key) ??
    (client && openClientTokens(client, url, options)) ??
    (auth &&
      grants &&
      createGrantedTokens({ connection, server: url.href, auth, fetch, timers, ...grants }));
  if (created) tokens.set(key, created);
  return created;
}

function openClientTokens(
  client: OAuthClient,
  url: URL,
  { fetch, timers }: OpenOAuthOptions,
): OAuthTokens {
  return createOAuthTokens({
    client,
    resource: url.href,
    fetch,
    timers,
    async discover(fetchFn) {
      const { authorizationServerUrl, authorizationServerMetadata: metadata } =
        await discoverOAuthServerInfo(url, { fetchFn });
      if (!metadata)
        throw new ConnectionError(
          "unauthorized",
          `The authorization server ${authorizationServerUrl} publishes no metadata. Set token_url in the credentials of the connection.`,
        );
      const methods = metadata.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
      return {
        url: metadata.token_endpoint,
        isSecretInForm:
          !methods.includes("client_secret_basic") && methods.includes("client_secret_post"),
      };
    },
  });
}
