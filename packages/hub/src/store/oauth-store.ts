/**
 * Clients and grants of the OAuth authorization server. A grant is the whole life of one authorization:
 * it is created with a secret that redeems it once (an authorization code or a device code), then issues
 * access tokens and a chain of refresh tokens, until it is revoked or expires. Secrets are stored as
 * SHA-256 hashes; access tokens are rows of `tokens` whose parent is the grant.
 */
import type { Scope } from "./store.ts";

export interface OAuthClient {
  /** Of a registered client: random. Of a client with a metadata document: the document's URL. */
  id: string;
  name: string;
  redirect_uris: string[];
  grant_types: string[];
  created_at: number;
  /** From then on a document is fetched again, and a client without grants is removed. */
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
  /** The token whose revocation or expiry ends the grant; null: no such token. */
  parent: string | null;
  /** With this value the hub derives the next refresh token from the presented one. */
  salt: string;
  created_at: number;
  /** Before the redemption, of the code; then, of the newest refresh token. */
  expires_at: number;
  /** When a token of the grant was last used or issued. */
  last_used_at: number | null;
}

export interface NewOAuthGrant extends Omit<OAuthGrant, "last_used_at"> {
  status: "pending" | "approved" | "denied";
  /** The hash of the code that redeems the grant. */
  code_hash: string;
  /** What the person enters to find a pending grant. */
  user_code: string | null;
}

/** What a person has granted. */
export type Decision =
  | { status: "denied" }
  | ({ status: "approved" } & Pick<OAuthGrant, "scopes" | "tenants" | "person" | "parent">);

/** An access token to be stored; the rest of its row comes from the grant. */
export interface NewAccessToken {
  id: string;
  hash: string;
  /** Null: all scopes of the grant. */
  scopes: Scope[] | null;
  expires_at: number;
}

export interface Redemption {
  code_hash: string;
  client_id: string;
  /** Undefined: the request has none, so none is compared. */
  redirect_uri: string | undefined;
  challenge: string | null;
  resource: string | undefined;
  access: NewAccessToken;
  /** The constant part of the refresh tokens, and the first refresh token, as hashes. */
  family_hash: string;
  refresh_hash: string;
  refresh_expires_at: number;
  at: number;
}

/**
 * `reused`: the code was redeemed before; the grant is now revoked. `mismatch`: the code is valid, but
 * for another client, redirect URI, verifier or resource; it stays redeemable.
 */
export type RedemptionResult =
  | { outcome: "redeemed"; grant: OAuthGrant }
  | { outcome: "mismatch"; field: "client_id" | "redirect_uri" | "code_verifier" | "resource" }
  | { outcome: "unknown" | "pending" | "denied" | "expired" | "reused" };

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
  /** How many clients may have registered themselves without a grant that a person has approved. */
  maxUnused: number;
  /** At the maximum, the oldest unused client is removed if it was created before this time. */
  removableBefore: number;
}

/** `full`: all unused clients are recent, and `oldest` is the first creation time. */
export type RegistrationResult = { outcome: "registered" } | { outcome: "full"; oldest: number };

/** Which grants are listed. */
export interface GrantList {
  now: number;
  /** Only grants of this person. */
  person?: string | undefined;
  /** Only grants whose id sorts before this one: the last id of the previous page. */
  before?: string | undefined;
  limit: number;
}

export interface OAuthStore {
  /** Creates or replaces a client with a metadata document. */
  putOAuthClient(client: OAuthClient): Promise<void>;
  /** Creates a client that has registered itself. */
  registerOAuthClient(client: OAuthClient, limit: RegistrationLimit): Promise<RegistrationResult>;
  getOAuthClient(id: string): Promise<OAuthClient | undefined>;
  /** False if a grant with this id, code or user code exists; it is not changed. */
  createOAuthGrant(grant: NewOAuthGrant): Promise<boolean>;
  getOAuthGrant(id: string): Promise<OAuthGrant | undefined>;
  findPendingGrant(userCode: string, now: number): Promise<OAuthGrant | undefined>;
  /** Decides a pending grant. False if it does not exist, has expired or was decided before. */
  decideOAuthGrant(id: string, decision: Decision, now: number): Promise<boolean>;
  /** Of several concurrent calls with one code, one redeems it. */
  redeemOAuthGrant(redemption: Redemption): Promise<RedemptionResult>;
  /** The grant of a refresh token, by the constant part of its tokens. */
  findGrantByFamily(familyHash: string): Promise<OAuthGrant | undefined>;
  /** Replaces the refresh token. The former one is accepted for `graceMs`, with the same next token. */
  rotateOAuthGrant(rotation: Rotation): Promise<RotationResult>;
  /** Also revokes its access tokens. False if the grant does not exist or is not active. */
  revokeOAuthGrant(id: string, at: number): Promise<boolean>;
  /** The active grants, sorted by id, descending: the newest first. */
  listOAuthGrants(list: GrantList): Promise<OAuthGrant[]>;
  /** Removes expired grants, and expired clients without grants. Returns their number. */
  sweepOAuth(expiredBefore: number, limit: number): Promise<number>;
}
