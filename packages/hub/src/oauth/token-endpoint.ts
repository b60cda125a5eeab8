/**
 * Issues tokens. A refresh token is `sbr_FAMILY.SECRET`. The grant is found by the family, so that the
 * reuse of any former refresh token is detected. The next refresh token is derived from the presented one
 * and a secret of the grant, so that a client that lost the response gets the same token again.
 */

import type { Scope } from "../kernel/access/scopes.ts";
import { toBase64Url, utf8 } from "../kernel/lib/bytes.ts";
import { sha256Hex, webHmacKey } from "../kernel/lib/hmac.ts";
import { challengeOf, isVerifier } from "../kernel/lib/pkce.ts";
import { randomSecret } from "../kernel/lib/random-secret.ts";
import type { Store } from "../store.ts";
import { POLL_GRANT } from "./authorization-request.ts";
import { pollHash } from "./decide.ts";
import { DEVICE_GRANT } from "./device.ts";
import { type Form, requireParam } from "./form.ts";
import type { OAuthClient, OAuthGrant } from "./model.ts";
import { OAuthError } from "./oauth-error.ts";
import { readRequestedResource, readRequestedScopes } from "./requested.ts";

const ACCESS_MS = 3_600_000;
const REFRESH_MS = 30 * 24 * ACCESS_MS;
/** A client may present the former refresh token again within this time. */
const GRACE_MS = 30_000;

export const GRANT_TYPES = ["authorization_code", "refresh_token", DEVICE_GRANT, POLL_GRANT];

export interface TokenResponse {
  access_token: string;
  token_type: "Bearer";
  expires_in: number;
  refresh_token: string;
  scope: string;
}

export interface TokenEndpointOptions {
  store: Pick<
    Store,
    | "redeemOAuthGrant"
    | "findGrantByFamily"
    | "rotateOAuthGrant"
    | "revokeOAuthGrant"
    | "getOAuthGrant"
  > &
    Pick<Store, "findToken" | "revokeToken">;
  newId: () => string;
  now: () => number;
}

interface CodeToRedeem {
  hash: string;
  challenge?: string | null;
  redirect_uri?: string | undefined;
}

const invalidGrant = (description: string) => new OAuthError("invalid_grant", description);

export function createTokenEndpoint({ store, newId, now }: TokenEndpointOptions) {
  const newAccess = async (scopes: Scope[] | null) => {
    const secret = randomSecret("sbo_");
    const row = {
      id: newId(),
      hash: await sha256Hex(secret),
      scopes,
      expires_at: now() + ACCESS_MS,
    };
    return { secret, row };
  };
  const respond = (access: string, refresh: string, scopes: readonly Scope[]): TokenResponse => ({
    access_token: access,
    token_type: "Bearer",
    expires_in: ACCESS_MS / 1000,
    refresh_token: refresh,
    scope: scopes.join(" "),
  });

  async function redeem(client: OAuthClient, form: Form, code: CodeToRedeem, hub: string) {
    const access = await newAccess(null);
    const family = randomSecret("");
    const refresh = `sbr_${family}.${randomSecret("")}`;
    const result = await store.redeemOAuthGrant({
      code_hash: code.hash,
      client_id: client.id,
      redirect_uri: code.redirect_uri,
      challenge: code.challenge ?? null,
      resource: form.resource === undefined ? undefined : readRequestedResource(form.resource, hub),
      access: access.row,
      family_hash: await sha256Hex(family),
      refresh_hash: await sha256Hex(refresh),
      refresh_expires_at: now() + REFRESH_MS,
      at: now(),
    });
    return result.outcome === "redeemed"
      ? respond(access.secret, refresh, result.grant.scopes)
      : result;
  }

  async function redeemCode(client: OAuthClient, form: Form, hub: string) {
    const verifier = requireParam(form, "code_verifier");
    if (!isVerifier(verifier))
      throw new OAuthError("invalid_request", "code_verifier: must have 43 to 128 characters");
    const hash = await sha256Hex(requireParam(form, "code"));
    const challenge = await challengeOf(verifier);
    const code = { hash, challenge, redirect_uri: form.redirect_uri };
    const result = await redeem(client, form, code, hub);
    if (!("outcome" in result)) return result;
    if (result.outcome !== "mismatch") throw invalidGrant("The code is unknown, expired or used.");
    if (result.field === "resource")
      throw new OAuthError("invalid_target", "resource: the code was issued for another resource");
    const fix = result.field === "code_verifier" ? ", so the code has ended. Authorize again." : "";
    throw invalidGrant(`${result.field}: differs from the authorization request${fix}`);
  }

  /** For clients that poll: the errors are those of RFC 8628. */
  async function redeemPolled(client: OAuthClient, form: Form, hash: string, hub: string) {
    const result = await redeem(client, form, { hash }, hub);
    if (!("outcome" in result)) return result;
    switch (result.outcome) {
      case "pending":
        throw new OAuthError("authorization_pending", "The person has not decided yet.");
      case "denied":
        throw new OAuthError("access_denied", "The person has denied the request.");
      case "mismatch":
        throw invalidGrant(`${result.field}: differs from the request of the device code`);
      case "unknown":
        throw invalidGrant("The device code is unknown.");
      default:
        throw new OAuthError("expired_token", "The code has expired or was used. Start again.");
    }
  }

  /**
   * The state is unknown until a person has decided: the client polls before the browser has opened.
   */
  async function redeemState(client: OAuthClient, form: Form, hub: string) {
    const hash = await pollHash(client.id, requireParam(form, "state"));
    try {
      return await redeemPolled(client, form, hash, hub);
    } catch (error) {
      if (!(error instanceof OAuthError) || error.error !== "invalid_grant") throw error;
      throw new OAuthError("authorization_pending", "No person has decided yet.");
    }
  }

  async function refresh(client: OAuthClient, form: Form, hub: string) {
    const presented = requireParam(form, "refresh_token");
    const found = await findGrant(presented);
    if (!found) throw invalidGrant("The refresh token is unknown. Authorize again.");
    const { grant, family } = found;
    const scopes = form.scope === undefined ? grant.scopes : readRequestedScopes(form.scope);
    if (!scopes.every((scope) => grant.scopes.includes(scope)))
      throw new OAuthError("invalid_scope", "scope: exceeds what the person has granted");
    if (form.resource !== undefined && readRequestedResource(form.resource, hub) !== grant.resource)
      throw new OAuthError("invalid_target", "resource: the token was issued for another resource");
    const key = webHmacKey(utf8(grant.salt));
    const next = `sbr_${family}.${toBase64Url(await key.sign([utf8(presented)]))}`;
    const access = await newAccess(scopes);
    const { outcome } = await store.rotateOAuthGrant({
      family_hash: await sha256Hex(family),
      presented_hash: await sha256Hex(presented),
      next_hash: await sha256Hex(next),
      client_id: client.id,
      access: access.row,
      refresh_expires_at: now() + REFRESH_MS,
      at: now(),
      graceMs: GRACE_MS,
    });
    if (outcome !== "rotated")
      throw invalidGrant("The refresh token was used before, was revoked or has expired.");
    return respond(access.secret, next, scopes);
  }

  async function findGrant(
    refreshToken: string,
  ): Promise<{ grant: OAuthGrant; family: string } | undefined> {
    const family = /^sbr_([\w-]{43})\.[\w-]{43}$/.exec(refreshToken)?.[1];
    if (family === undefined) return undefined;
    const grant = await store.findGrantByFamily(await sha256Hex(family));
    return grant && { grant, family };
  }

  return {
    async issue(client: OAuthClient, form: Form, hub: string): Promise<TokenResponse> {
      switch (requireParam(form, "grant_type")) {
        case "authorization_code":
          return redeemCode(client, form, hub);
        case "refresh_token":
          return refresh(client, form, hub);
        case DEVICE_GRANT:
          return redeemPolled(
            client,
            form,
            await sha256Hex(requireParam(form, "device_code")),
            hub,
          );
        case POLL_GRANT:
          return redeemState(client, form, hub);
        default:
          throw new OAuthError(
            "unsupported_grant_type",
            `grant_type: must be one of ${GRANT_TYPES.join(", ")}`,
          );
      }
    },

    /**
     * RFC 7009: a refresh token ends its grant. Unknown tokens, and tokens of other clients, are
     * ignored.
     */
    async revoke(client: OAuthClient, secret: string): Promise<void> {
      const found = await findGrant(secret);
      if (found) {
        if (found.grant.client_id === client.id)
          await store.revokeOAuthGrant(found.grant.id, now());
        return;
      }
      const token = await store.findToken(await sha256Hex(secret));
      if (token?.kind !== "oauth" || token.parent === null) return;
      const grant = await store.getOAuthGrant(token.parent);
      if (grant?.client_id === client.id) await store.revokeToken(token.id, now());
    },
  };
}
