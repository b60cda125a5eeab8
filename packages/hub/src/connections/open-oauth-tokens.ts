import { discoverOAuthServerInfo } from "@modelcontextprotocol/client";
import type { BoundedMap } from "../lib/bounded-map.ts";
import type { Timers } from "../lib/timers.ts";
import type { WebFetch } from "../lib/web-fetch.ts";
import { ConnectionError } from "./connection-error.ts";
import type { OAuthClient } from "./credentials.ts";
import { createOAuthTokens, type OAuthTokens } from "./oauth-token.ts";

interface OpenOAuthOptions {
  fetch: WebFetch;
  timers: Pick<Timers, "now" | "monotonic" | "after">;
  tokens: BoundedMap<string, OAuthTokens>;
}

/** The tokens of an OAuth client: those of `tokens` with the same key, or new ones. */
export function openOAuthTokens(
  key: string,
  client: OAuthClient,
  url: URL,
  { fetch, timers, tokens }: OpenOAuthOptions,
): OAuthTokens {
  const known = tokens.get(key);
  if (known) return known;
  const created = createOAuthTokens({
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
  tokens.set(key, created);
  return created;
}
