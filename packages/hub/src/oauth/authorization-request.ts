/** Validates a request to the authorization endpoint (RFC 6749, 7636, 8707; OAuth 2.1). */

import type { Scope } from "../kernel/access/scopes.ts";
import { isChallenge } from "../kernel/lib/pkce.ts";
import { type Form, requireParam } from "./form.ts";
import type { OAuthClient } from "./model.ts";
import { OAuthError } from "./oauth-error.ts";
import { isRegisteredRedirect } from "./redirect-uris.ts";
import { readRequestedResource, readRequestedScopes } from "./requested.ts";

/**
 * The grant type of the legacy bridge, which opens the authorization endpoint with a random `state`, and
 * polls the token endpoint with the same `state`.
 */
export const POLL_GRANT = "urn:ietf:params:oauth:grant-type:web_authorization_poll";
/** The state must be long, because it is the only secret of this grant type. */
const MIN_POLL_STATE = 32;
const MAX_STATE = 2_000;

export interface AuthorizationRequest {
  /** How the client gets its tokens. */
  flow: "code" | "poll";
  redirect_uri: string | null;
  state: string | null;
  scopes: Scope[];
  resource: string;
  challenge: string | null;
}

/**
 * An error that may be returned to the client, because its redirect URI is valid. The person confirms the
 * redirect with a click.
 */
export class ReturnedError extends Error {
  readonly redirectUri: string;
  readonly state: string | undefined;
  readonly code: string;

  constructor(redirectUri: string, state: string | undefined, { error, message }: OAuthError) {
    super(message);
    this.redirectUri = redirectUri;
    this.state = state;
    this.code = error;
  }
}

/**
 * Throws if the request is invalid: a `ReturnedError` if its redirect URI is registered, otherwise an
 * `OAuthError`.
 */
export function readAuthorization(
  form: Form,
  client: Pick<OAuthClient, "redirect_uris" | "grant_types">,
  hub: string,
): AuthorizationRequest {
  if (form.redirect_uri === undefined && client.grant_types.includes(POLL_GRANT))
    return pollRequest(form, hub);
  const redirectUri = requireParam(form, "redirect_uri");
  if (!isRegisteredRedirect(client.redirect_uris, redirectUri))
    throw new OAuthError("invalid_request", "redirect_uri: is not registered for this client");
  try {
    return { flow: "code", redirect_uri: redirectUri, ...codeRequest(form, hub) };
  } catch (error) {
    throw error instanceof OAuthError ? new ReturnedError(redirectUri, form.state, error) : error;
  }
}

function codeRequest(form: Form, hub: string) {
  if (requireParam(form, "response_type") !== "code")
    throw new OAuthError("unsupported_response_type", "response_type: must be code");
  const challenge = requireParam(form, "code_challenge");
  if (form.code_challenge_method !== "S256" || !isChallenge(challenge))
    throw new OAuthError(
      "invalid_request",
      "code_challenge: must be a challenge of the method S256",
    );
  if ((form.state?.length ?? 0) > MAX_STATE)
    throw new OAuthError("invalid_request", `state: must have at most ${MAX_STATE} characters`);
  return {
    state: form.state ?? null,
    scopes: readRequestedScopes(form.scope),
    resource: readRequestedResource(form.resource, hub),
    challenge,
  };
}

function pollRequest(form: Form, hub: string): AuthorizationRequest {
  const state = requireParam(form, "state");
  if (state.length < MIN_POLL_STATE || state.length > MAX_STATE)
    throw new OAuthError(
      "invalid_request",
      `state: must have ${MIN_POLL_STATE} to ${MAX_STATE} characters`,
    );
  return {
    flow: "poll",
    redirect_uri: null,
    state,
    // The scopes in the request are ignored, because the legacy bridge may send scopes of GitHub.
    scopes: readRequestedScopes(undefined),
    resource: readRequestedResource(form.resource, hub),
    challenge: null,
  };
}
