/** The OAuth authorization code flow, with the MCP SDK. */
import {
  type AuthorizationServerMetadata,
  auth as authorize,
  exchangeAuthorization,
  extractWWWAuthenticateParams,
  OAuthClientFlowError,
  OAuthError,
  OAuthErrorCode,
  type OAuthTokens,
  refreshAuthorization,
  selectClientAuthMethod,
  validateAuthorizationResponseIssuer,
} from "@modelcontextprotocol/client";
import type { ZodError } from "zod";
import type { WebFetch } from "../kernel/lib/web-fetch.ts";
import { toConnectionError } from "./client-error.ts";
import { clientMetadata } from "./client-metadata.ts";
import { ConnectionError } from "./connection-error.ts";
import type { OAuthSignIn } from "./credentials.ts";
import { createEchoMask } from "./echo-mask.ts";
import type { Grant, GrantedTokens, OAuthFlow, PendingFlow } from "./grant.ts";
import { quote } from "./quote.ts";

export interface StartOptions {
  server: string;
  auth: OAuthSignIn;
  state: string;
  redirectUri: string;
  /** The hub's client metadata document; undefined if no authorization server could fetch it. */
  clientMetadataUrl: string | undefined;
  fetch: WebFetch;
}

/** Discovers the authorization server. Registers the hub there, unless it already has a client id. */
export async function startFlow(
  options: StartOptions,
): Promise<{ url: string; pending: PendingFlow }> {
  const { server, auth, state, redirectUri, clientMetadataUrl, fetch } = options;
  const { client_id, client_secret, scope } = auth;
  let client: PendingFlow["client"] | undefined =
    client_id === undefined ? undefined : { client_id, ...(client_secret && { client_secret }) };
  let url: URL | undefined;
  let verifier = "";
  let resource: string | undefined;
  let discovered: Pick<PendingFlow, "authorizationServer" | "metadata"> | undefined;
  try {
    const challenge = await challengeOf(server, fetch);
    await authorize(
      {
        redirectUrl: redirectUri,
        ...(clientMetadataUrl === undefined ? {} : { clientMetadataUrl }),
        clientMetadata: { ...clientMetadata(redirectUri), ...(scope && { scope }) },
        state: () => state,
        // The SDK uses a client only at the authorization server with the same `issuer`. A configured
        // client is used at every authorization server that the MCP server names.
        clientInformation: (authorizationServer) =>
          client &&
          (client_id === undefined || !authorizationServer
            ? client
            : { ...client, issuer: authorizationServer.issuer }),
        saveClientInformation: (information) => {
          client = information;
        },
        tokens: () => undefined,
        saveTokens() {},
        redirectToAuthorization: (authorizationUrl) => {
          url = authorizationUrl;
        },
        saveCodeVerifier: (codeVerifier) => {
          verifier = codeVerifier;
        },
        codeVerifier: () => verifier,
        // The SDK calls it before it registers the hub.
        saveDiscoveryState: (state) => {
          assertPkce(state.authorizationServerUrl, state.authorizationServerMetadata);
          discovered = {
            authorizationServer: state.authorizationServerUrl,
            metadata: state.authorizationServerMetadata,
          };
        },
        saveResourceUrl: (resourceUrl) => {
          resource = resourceUrl;
        },
      },
      { ...challenge, serverUrl: server, fetchFn: fetch, ...(scope && { scope }) },
    );
  } catch (error) {
    const flowFailure = toFlowError(error, auth, []);
    // The SDK's error has no code for a failed registration of the hub.
    if (error instanceof ConnectionError || !/regist/i.test(flowFailure.message)) throw flowFailure;
    throw new ConnectionError(
      "unauthorized",
      `${flowFailure.message} Register the hub there with the redirect URL ${redirectUri}, and set client_id.`,
    );
  }
  if (!url || !client || !discovered || !/^https?:$/.test(url.protocol))
    throw new ConnectionError(
      "unauthorized",
      "The authorization server of this MCP server has no page to authorize the hub.",
    );
  const flow = { server, auth, ...discovered, client, resource, verifier, redirectUri };
  return { url: url.href, pending: flow };
}

/**
 * MCP requires PKCE, and its clients must refuse an authorization server whose metadata does not list it.
 * A server without metadata follows MCP 2025-03-26, which fixes its endpoints and requires PKCE too.
 */
function assertPkce(server: string, metadata: AuthorizationServerMetadata | undefined): void {
  const methods = metadata?.code_challenge_methods_supported;
  if (!metadata || methods?.includes(PKCE_METHOD)) return;
  const found = methods
    ? `has code_challenge_methods_supported ${quote(JSON.stringify(methods))}, without "${PKCE_METHOD}"`
    : "has no code_challenge_methods_supported";
  throw new ConnectionError(
    "unauthorized",
    `The metadata of the authorization server ${quote(server)} ${found}. MCP requires PKCE: the server must support it, and list "${PKCE_METHOD}" in this field.`,
  );
}

const PKCE_METHOD = "S256";

/** Reads the metadata URL and the scope from the server's 401 response: discovery cannot guess them. */
async function challengeOf(server: string, fetch: WebFetch) {
  const response = await fetch(server, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  });
  await response.body?.cancel();
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response);
  return { ...(resourceMetadataUrl && { resourceMetadataUrl }), ...(scope && { scope }) };
}

/** The parameters that the authorization server adds to the redirect URL. */
export interface AuthorizationResponse {
  code?: string | undefined;
  iss?: string | undefined;
  error?: string | undefined;
  error_description?: string | undefined;
}

/** Exchanges the code for tokens. Verifies the issuer of the response first. */
export async function redeemCode(
  pending: PendingFlow,
  { code, iss, error, error_description }: AuthorizationResponse,
  fetch: WebFetch,
  now: () => number,
): Promise<Grant> {
  const { verifier, redirectUri, ...flow } = pending;
  const { metadata } = flow;
  try {
    validateAuthorizationResponseIssuer({
      iss,
      expectedIssuer: metadata?.issuer,
      issParameterSupported: metadata?.authorization_response_iss_parameter_supported === true,
    });
    if (code === undefined)
      throw new OAuthError(error ?? "no code", error_description ?? "The person did not consent");
    const tokens = await exchangeAuthorization(flow.authorizationServer, {
      ...paramsOf(flow, fetch),
      authorizationCode: code,
      ...(iss !== undefined && { iss }),
      codeVerifier: verifier,
      redirectUri,
    });
    return { ...flow, tokens: toGranted(tokens, now()) };
  } catch (failure) {
    throw toFlowError(failure, flow.auth, [code, verifier, flow.client.client_secret]);
  }
}

/** Returns `ended`, with the reason, if the authorization server will never accept the refresh token. */
export async function refreshGrant(
  grant: Grant & { tokens: { refresh: string } },
  fetch: WebFetch,
  now: () => number,
): Promise<Grant | { ended: string }> {
  const { refresh } = grant.tokens;
  try {
    const tokens = await refreshAuthorization(grant.authorizationServer, {
      ...paramsOf(grant, fetch),
      refreshToken: refresh,
    });
    return { ...grant, tokens: toGranted(tokens, now()) };
  } catch (error) {
    const flowFailure = toFlowError(error, grant.auth, [refresh, grant.client.client_secret]);
    if (error instanceof OAuthError && PERMANENT_ERRORS.has(error.code))
      return { ended: flowFailure.message };
    throw flowFailure;
  }
}

const PERMANENT_ERRORS: ReadonlySet<string> = new Set([
  OAuthErrorCode.InvalidGrant,
  OAuthErrorCode.InvalidClient,
  OAuthErrorCode.UnauthorizedClient,
]);

/** Revokes the tokens at the authorization server (RFC 7009), if it has a revocation endpoint. */
export async function revokeGrant(grant: Grant, fetch: WebFetch): Promise<void> {
  const { tokens, metadata, client } = grant;
  const endpoint = metadata && "revocation_endpoint" in metadata && metadata.revocation_endpoint;
  if (typeof endpoint !== "string") return;
  const { refresh } = tokens;
  const form = new URLSearchParams({
    token: refresh ?? tokens.access,
    token_type_hint: refresh === undefined ? "access_token" : "refresh_token",
  });
  const headers = new Headers();
  const methods = metadata?.token_endpoint_auth_methods_supported ?? [];
  if (selectClientAuthMethod(client, methods) === "client_secret_basic")
    headers.set("authorization", `Basic ${btoa(`${client.client_id}:${client.client_secret}`)}`);
  else {
    form.set("client_id", client.client_id);
    if (client.client_secret !== undefined) form.set("client_secret", client.client_secret);
  }
  try {
    const response = await fetch(endpoint, { method: "POST", headers, body: form });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`The authorization server answered ${response.status}`);
  } catch (error) {
    throw toFlowError(error, grant.auth, [tokens.access, refresh, client.client_secret]);
  }
}

const paramsOf = ({ metadata, client, resource }: OAuthFlow, fetch: WebFetch) => ({
  ...(metadata && { metadata }),
  clientInformation: client,
  ...(resource !== undefined && { resource }),
  fetchFn: fetch,
});

/** A token is refreshed this long before it expires, but not before half of its lifetime. */
const EARLY_S = 30;

function toGranted(tokens: OAuthTokens, now: number): GrantedTokens {
  const { access_token, refresh_token, expires_in } = tokens;
  return {
    access: access_token,
    refresh: refresh_token,
    refreshAt:
      expires_in === undefined
        ? null
        : now + (expires_in - Math.min(EARLY_S, expires_in / 2)) * 1000,
  };
}

/** The SDK throws plain errors if a server does not follow the specification. */
const isPlainError = (error: unknown): error is Error =>
  error instanceof Error && error.constructor === Error && error.cause === undefined;

/** Masks the secrets, because the authorization server may echo what was sent to it. */
function toFlowError(
  error: unknown,
  auth: OAuthSignIn,
  secrets: readonly (string | undefined)[],
): ConnectionError {
  const echoes = createEchoMask({ auth });
  for (const secret of secrets) if (secret !== undefined) echoes.add(secret);
  if (error instanceof OAuthError) {
    const answer = `${echoes.quote(error.code)}: ${echoes.quote(error.message)}`;
    return new ConnectionError("unauthorized", `The authorization server answered ${answer}.`);
  }
  if (error instanceof OAuthClientFlowError || isPlainError(error))
    return new ConnectionError(
      "unauthorized",
      `${echoes.quote(error.message).replace(/\.$/, "")}.`,
    );
  if (error instanceof Error && error.name === "ZodError") {
    const { path, message } = (error as ZodError).issues[0] ?? { path: [], message: error.message };
    const problem = echoes.quote(`${path.join(".") || "the answer"}: ${message}`);
    return new ConnectionError(
      "invalid_response",
      `The server's OAuth answer is invalid: ${problem}.`,
    );
  }
  return echoes.error(toConnectionError(error, echoes.quote));
}
