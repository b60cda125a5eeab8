import type { Scope } from "../kernel/access/scopes.ts";

export interface OAuthClient {
  /** Random if the client has registered itself; otherwise the URL of its metadata document. */
  id: string;
  name: string;
  redirect_uris: string[];
  grant_types: string[];
  created_at: number;
  /** From this time on, a metadata document is fetched again, and a client without grants is removed. */
  expires_at: number;
}

/**
 * `pending`: a device code that awaits a person's decision. `approved`: can be redeemed. `active`: was
 * redeemed, and its tokens are valid.
 */
type GrantStatus = "pending" | "approved" | "denied" | "active" | "revoked";

export interface OAuthGrant {
  id: string;
  client_id: string;
  /** The client's name, as the person saw it. */
  client_name: string;
  status: GrantStatus;
  redirect_uri: string | null;
  /** The PKCE challenge (S256) of an authorization code. */
  challenge: string | null;
  /** The audience of the tokens. */
  resource: string;
  scopes: Scope[];
  tenants: string[];
  person: string | null;
  /** The token whose revocation or expiry ends the grant; null if there is no such token. */
  parent: string | null;
  /** The hub derives the next refresh token from the presented one and this value. */
  salt: string;
  created_at: number;
  /** When the code expires; after the redemption, when the newest refresh token expires. */
  expires_at: number;
  /** When a token of the grant was last used or issued. */
  last_used_at: number | null;
}

export interface NewOAuthGrant extends Omit<OAuthGrant, "last_used_at"> {
  status: "pending" | "approved" | "denied";
  /** The hash of the code that redeems the grant. */
  code_hash: string;
  /** The short code that a person enters to find a pending grant; null without a device code. */
  user_code: string | null;
}

/** A person's decision about a pending grant. */
export type Decision =
  | { status: "denied" }
  | ({ status: "approved" } & Pick<OAuthGrant, "scopes" | "tenants" | "person" | "parent">);

/** An access token to be stored. The other columns of its row come from the grant. */
export interface NewAccessToken {
  id: string;
  hash: string;
  /** Null: all scopes of the grant. */
  scopes: Scope[] | null;
  expires_at: number;
}

/** Exchanges a code for tokens. */
export interface Redemption {
  code_hash: string;
  client_id: string;
  /** If the request has none, it is undefined and not compared. */
  redirect_uri: string | undefined;
  /** Computed from the code verifier of the request. */
  challenge: string | null;
  /** If the request has none, it is undefined and not compared. */
  resource: string | undefined;
  access: NewAccessToken;
  /** The hash of the part that all refresh tokens of the grant have in common. */
  family_hash: string;
  /** The hash of the first refresh token. */
  refresh_hash: string;
  refresh_expires_at: number;
  at: number;
}

/**
 * `reused`: the code was redeemed before; the grant is now revoked. `mismatch`: the code is valid, but
 * for another client, redirect URI, verifier or resource. A wrong verifier ends it; otherwise, it stays
 * redeemable.
 */
export type RedemptionResult =
  | { outcome: "redeemed"; grant: OAuthGrant }
  | { outcome: "mismatch"; field: "client_id" | "redirect_uri" | "code_verifier" | "resource" }
  | { outcome: "unknown" | "pending" | "denied" | "expired" | "reused" };

/** Exchanges a refresh token for new tokens. */
export interface Rotation {
  family_hash: string;
  presented_hash: string;
  next_hash: string;
  client_id: string;
  access: NewAccessToken;
  refresh_expires_at: number;
  at: number;
  /** How long the former refresh token may be presented again, for a client that lost the response. */
  graceMs: number;
}

export type RotationResult =
  | { outcome: "rotated"; grant: OAuthGrant }
  /** `reused`: a former refresh token was presented; the grant is now revoked. */
  | { outcome: "invalid" | "reused" };

export interface RegistrationLimit {
  /** The maximum number of clients that have registered themselves and to which no person has granted access. */
  maxUnused: number;
  /** At the maximum, the oldest unused client is removed if it was created before this time. */
  removableBefore: number;
}

/** `full`: no unused client is old enough to be removed. `oldest`: the creation time of the oldest one. */
export type RegistrationResult = { outcome: "registered" } | { outcome: "full"; oldest: number };

/** Selects a page of the active grants. */
export interface GrantQuery {
  now: number;
  /** Only grants of this person. */
  person?: string | undefined;
  /** Only grants whose id sorts before this one: the last id of the previous page. */
  before?: string | undefined;
  limit: number;
}
