/**
 * The grant of a person to a connection: the tokens, and the data to refresh them. It is sealed as one
 * JSON document, and is only valid for the server and the OAuth settings to which the person consented.
 */
import type {
  AuthorizationServerMetadata,
  OAuthClientInformationMixed,
} from "@modelcontextprotocol/client";
import type { Seal } from "../kernel/lib/seal.ts";
import { ConnectionError } from "./connection-error.ts";
import type { OAuthSignIn } from "./credentials.ts";

/** The MCP server, its authorization server, and the hub's client there. */
export interface OAuthFlow {
  /** The URL of the MCP server. */
  server: string;
  auth: OAuthSignIn;
  authorizationServer: string;
  /** Undefined if the authorization server publishes none. */
  metadata?: AuthorizationServerMetadata | undefined;
  client: OAuthClientInformationMixed;
  /** The resource indicator (RFC 8707), if the server names one. */
  resource?: string | undefined;
}

/** A flow that waits for the person's consent. */
export interface PendingFlow extends OAuthFlow {
  verifier: string;
  redirectUri: string;
}

export interface Grant extends OAuthFlow {
  tokens: GrantedTokens;
}

export interface GrantedTokens {
  access: string;
  refresh?: string | undefined;
  /** When the access token must be refreshed; null if the server returned no lifetime. */
  refreshAt: number | null;
}

export async function unsealFlow<Flow extends OAuthFlow>(
  sealed: string,
  { unseal }: Pick<Seal, "unseal">,
): Promise<Flow> {
  try {
    return JSON.parse(await unseal(sealed)) as Flow;
  } catch (error) {
    throw new ConnectionError("unauthorized", (error as Error).message, { cause: error });
  }
}

/** A changed URL, client or scope needs the person's consent again. */
export const isFlowFor = (flow: OAuthFlow, server: string, auth: OAuthSignIn): boolean =>
  flow.server === server && JSON.stringify(flow.auth) === JSON.stringify(auth);

export const needsAuthorization = (reason: string): ConnectionError =>
  new ConnectionError(
    "needs_authorization",
    `${reason} Open the connection in the web UI, and choose Authorize.`,
  );
