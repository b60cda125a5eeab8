/**
 * Signs the user in at the hub's authorization server, with the authorization code flow (a browser on
 * this machine) or the device authorization grant (a browser on any machine).
 */
import { randomBytes } from "node:crypto";
import {
  discoverOAuthServerInfo,
  exchangeAuthorization,
  type OAuthTokens,
  registerClient,
  startAuthorization,
} from "@modelcontextprotocol/client";
import { deviceEndpointOf, pollForTokens, requestDeviceCode } from "./device-code.ts";
import { listenForRedirect } from "./redirect-listener.ts";
import type { SavedTokens } from "./token-file.ts";

interface SignIn {
  /** What the user must do, as one line. */
  instruction: string;
  /** The page that the user must open. */
  open: string;
  done: Promise<SavedTokens>;
}
export type BeginSignIn = () => Promise<SignIn>;

export interface SignInOptions {
  url: string;
  fetch: typeof fetch;
  /** Whether the user has a browser on this machine. */
  hasBrowser: boolean;
  /** Ends a pending sign-in. */
  signal: AbortSignal;
  now?: () => number;
}

/** Read and write access to the inbox. */
const SCOPE = "inbox:read inbox:write";
const CLIENT_NAME = "Signalbox bridge";
/** A token is refreshed this long before it expires, but is used for at least half its lifetime. */
const EARLY_S = 30;

/** Returns a function that begins a sign-in with each call. */
export function createSignIn(options: SignInOptions): BeginSignIn {
  const { url, fetch, hasBrowser } = options;
  return async () => {
    const server = await discover(url, fetch);
    const canUseCode = deviceEndpointOf(server.metadata) !== undefined;
    return hasBrowser || !canUseCode
      ? signInByBrowser(options, server)
      : signInByDeviceCode(options, server);
  };
}

type Discovered = Pick<SavedTokens, "authorizationServer" | "metadata" | "resource">;

async function discover(url: string, fetch: typeof globalThis.fetch): Promise<Discovered> {
  const found = await discoverOAuthServerInfo(`${url}/mcp`, { fetchFn: fetch });
  const { authorizationServerUrl, authorizationServerMetadata: metadata, resourceMetadata } = found;
  const resource = resourceMetadata?.resource.replace(/\/mcp$/, "");
  if (!metadata || resource === undefined)
    throw new Error(`the hub at ${url} has no sign-in. Set SIGNALBOX_TOKEN instead`);
  // Otherwise a server could ask for a token of another hub, and receive it.
  if (resource !== url)
    throw new Error(`the URL of this hub is ${resource}: set SIGNALBOX_URL to it`);
  return { authorizationServer: authorizationServerUrl, metadata, resource };
}

async function signInByBrowser(options: SignInOptions, server: Discovered): Promise<SignIn> {
  const { url, fetch, signal, now = Date.now } = options;
  const { authorizationServer, metadata, resource } = server;
  const state = randomBytes(32).toString("base64url");
  const listener = await listenForRedirect({ state, signal });
  const { redirectUrl } = listener;
  const begin = async () => {
    const client = await register(server, fetch, {
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
    });
    const started = await startAuthorization(authorizationServer, {
      metadata,
      clientInformation: client,
      redirectUrl,
      scope: SCOPE,
      state,
      resource,
    });
    return { client, ...started };
  };
  const { client, authorizationUrl, codeVerifier } = await begin().catch((error: unknown) => {
    listener.close();
    throw error;
  });
  const done = listener.waitForRedirect(authorizationUrl.href, async ({ code, iss }) => {
    const tokens = await exchangeAuthorization(authorizationServer, {
      metadata,
      clientInformation: client,
      authorizationCode: code,
      ...(iss !== undefined && { iss }),
      codeVerifier,
      redirectUri: redirectUrl,
      resource,
      fetchFn: fetch,
    });
    return savedTokens({ ...server, client }, tokens, now());
  });
  return {
    open: listener.url,
    instruction: `Sign in to the hub at ${url}: open ${listener.url} in a browser on this machine.`,
    done,
  };
}

async function signInByDeviceCode(options: SignInOptions, server: Discovered): Promise<SignIn> {
  const { url, fetch, signal, now = Date.now } = options;
  const client = await register(server, fetch, {
    redirect_uris: [],
    grant_types: ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"],
    response_types: [],
  });
  const request = { ...server, clientId: client.client_id, fetch };
  const code = await requestDeviceCode({ ...request, scope: SCOPE });
  return {
    open: code.page,
    instruction: `Sign in to the hub at ${url}: open ${code.page} in any browser and enter the code ${code.userCode}.`,
    done: pollForTokens({ ...request, code, signal }).then((tokens) =>
      savedTokens({ ...server, client }, tokens, now()),
    ),
  };
}

const register = (
  { authorizationServer, metadata }: Discovered,
  fetch: typeof globalThis.fetch,
  clientMetadata: { redirect_uris: string[]; grant_types: string[]; response_types: string[] },
) =>
  registerClient(authorizationServer, {
    metadata,
    clientMetadata: {
      client_name: CLIENT_NAME,
      token_endpoint_auth_method: "none",
      scope: SCOPE,
      ...clientMetadata,
    },
    fetchFn: fetch,
  });

export function savedTokens(
  { authorizationServer, metadata, resource, client }: Omit<SavedTokens, "access" | "refreshAt">,
  { access_token, refresh_token, expires_in }: OAuthTokens,
  now: number,
): SavedTokens {
  return {
    access: access_token,
    refresh: refresh_token,
    refreshAt:
      expires_in === undefined
        ? null
        : now + (expires_in - Math.min(EARLY_S, expires_in / 2)) * 1000,
    client,
    authorizationServer,
    metadata,
    resource,
  };
}
