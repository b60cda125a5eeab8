/** Fetches access tokens with the OAuth grant `client_credentials`, and caches them until they expire. */
import { z } from "zod";
import { elapsedSince, instant, type Timers } from "../kernel/lib/timers.ts";
import type { WebFetch } from "../kernel/lib/web-fetch.ts";
import { withAuthorizationFetch } from "./authorization-fetch.ts";
import { ConnectionError } from "./connection-error.ts";
import type { OAuthClient } from "./credentials.ts";
import { createEchoMask } from "./echo-mask.ts";

export interface OAuthTokens {
  getToken(): Promise<string>;
  /** Call this when the server has rejected the token. The next `getToken` fetches a new one. */
  reject(token: string): void;
}

interface TokenEndpoint {
  url: string;
  /** Whether the client's secret must be sent in the form, instead of the header `authorization`. */
  isSecretInForm: boolean;
}

/** Finds the token endpoint in the metadata of the server (RFC 9728, RFC 8414). */
type DiscoverTokenEndpoint = (fetch: WebFetch) => Promise<TokenEndpoint>;

export interface OAuthTokenOptions {
  client: OAuthClient;
  /** The URL of the MCP server, sent as `resource` (RFC 8707). */
  resource: string;
  fetch: WebFetch;
  discover: DiscoverTokenEndpoint;
  timers: Pick<Timers, "now" | "monotonic" | "after">;
}

/** The lifetime of a token without `expires_in`. */
const DEFAULT_LIFETIME_S = 300;
/** A token is replaced this long before it expires, but not before half of its lifetime. */
const EARLY_S = 30;

const answerSchema = z.object({
  access_token: z.string().regex(/^[\x21-\x7e]+$/),
  expires_in: z.coerce.number().positive().nullish(),
});
const errorSchema = z.object({ error: z.string(), error_description: z.string().optional() });

export function createOAuthTokens(options: OAuthTokenOptions): OAuthTokens {
  const { timers } = options;
  let current: { token: Promise<string>; value?: string; hasExpired(): boolean } | undefined;

  return {
    getToken() {
      if (current && !current.hasExpired()) return current.token;
      const since = instant(timers);
      const fetching = withAuthorizationFetch(options, (fetch) =>
        requestToken({ ...options, fetch }),
      );
      const entry: typeof current = {
        token: fetching.then(({ token }) => token),
        hasExpired: () => false,
      };
      current = entry;
      fetching.then(
        ({ token, lifetimeS }) => {
          entry.value = token;
          const early = Math.min(EARLY_S, lifetimeS / 2);
          const lifetimeMs = (lifetimeS - early) * 1000;
          entry.hasExpired = () => elapsedSince(timers, since) >= lifetimeMs;
        },
        () => {
          if (current === entry) current = undefined;
        },
      );
      return entry.token;
    },
    reject(token) {
      if (current?.value === token) current = undefined;
    },
  };
}

async function requestToken({ client, resource, fetch, discover }: OAuthTokenOptions) {
  const { client_id, client_secret, token_url, scope, audience } = client;
  const { quote } = createEchoMask({ auth: client });
  const endpoint: TokenEndpoint =
    token_url === undefined ? await discover(fetch) : { url: token_url, isSecretInForm: false };
  const form = new URLSearchParams({ grant_type: "client_credentials", resource });
  if (scope !== undefined) form.set("scope", scope);
  if (audience !== undefined) form.set("audience", audience);
  const headers = new Headers({ accept: "application/json" });
  if (endpoint.isSecretInForm) {
    form.set("client_id", client_id);
    form.set("client_secret", client_secret);
  } else {
    const basic = [client_id, client_secret].map(encodeURIComponent).join(":");
    headers.set("authorization", `Basic ${btoa(basic)}`);
  }
  const { host } = new URL(endpoint.url);
  const failed = (reason: string) =>
    new ConnectionError(
      "unauthorized",
      `The token endpoint at ${host} ${reason}. Check client_id, client_secret, scope and token_url of the connection.`,
    );
  const response = await fetch(endpoint.url, {
    method: "POST",
    headers,
    body: form,
    redirect: "manual",
  });
  const text = await response.text();
  const json = parseJson(text);
  const problem = errorSchema.safeParse(json);
  if (!response.ok)
    throw failed(
      problem.success
        ? `answered ${quote(problem.data.error)}${problem.data.error_description ? `: ${quote(problem.data.error_description)}` : ""}`
        : `answered HTTP ${response.status}: ${quote(text)}`,
    );
  const answer = answerSchema.safeParse(json);
  if (!answer.success) throw failed("returned no access_token");
  const { access_token, expires_in } = answer.data;
  return { token: access_token, lifetimeS: expires_in ?? DEFAULT_LIFETIME_S };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
