/** Tokens: their scopes and tenants, the roles of people, and what both allow. */
import { EVERY_TENANT, SCOPES, type Scope } from "@signalbox/contract/scopes.ts";

export type { Scope } from "@signalbox/contract/scopes.ts";

export {
  DEFAULT_SCOPES,
  EVERY_TENANT,
  LOCAL_TENANT,
  MAX_TENANTS,
} from "@signalbox/contract/scopes.ts";

export const scopes: readonly Scope[] = SCOPES;

/** `member`: may access the tenant's inbox and runs. `admin`: may access all data of the tenant. */
export type Role = "member" | "admin";

/**
 * `sign_in`: a code that can be exchanged once for a session. `session`: a browser that is signed in.
 * `oauth`: an access token of an OAuth client, whose parent is its grant. Only `token` and `oauth` are
 * accepted as bearer tokens.
 */
export type TokenKind = "token" | "sign_in" | "session" | "oauth";

export interface Token {
  id: string;
  kind: TokenKind;
  /**
   * The token that created this code or session, or the grant of an OAuth token. Revoking the parent
   * revokes this token.
   */
  parent: string | null;
  name: string;
  hash: string;
  scopes: Scope[];
  /** The tenants whose data the token can access; `*` means all tenants. */
  tenants: string[];
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  /** When the token was last used, to the minute. */
  last_used_at: number | null;
  /** The person whom the token represents; null if it represents none, such as a token of the operator. */
  person: string | null;
  /** The audience: the URL of the only resource that accepts the token. Null: all resources accept it. */
  resource: string | null;
}

/** A stored token with the roles of its person, which `withPeople` looks up. */
export interface GrantedToken extends Token {
  /**
   * The person's role in each of `tenants`. `unconfirmed`: GitHub has not confirmed it for too long.
   * Undefined if the token has no person, or its roles were not looked up: it then allows nothing.
   */
  roles?: ReadonlyMap<string, Role> | "unconfirmed";
}

/** What a member may do: use the inbox, call tools, and read runs. */
const MEMBER_SCOPES: readonly Scope[] = ["inbox:read", "inbox:write", "flows:call", "runs:read"];

/** `admin` includes all other scopes. */
export const allows = ({ scopes }: { scopes: readonly Scope[] }, scope: Scope): boolean =>
  scopes.includes(scope) || scopes.includes("admin");

/**
 * Returns the end of a message about a missing scope, which a person gets by a role, not by another
 * token.
 */
export const roleHint = ({ person = null }: { person?: string | null | undefined }): string =>
  person === null ? "" : " Admins of the organization have all scopes.";

/** Returns the scopes of the token in the tenant; empty if the token has no access to it. */
export function scopesIn(token: GrantedToken, tenant: string): readonly Scope[] {
  const isNamed = token.tenants.includes(tenant);
  if (token.person === null)
    return isNamed || token.tenants.includes(EVERY_TENANT) ? token.scopes : [];
  const role = isNamed && token.roles instanceof Map ? token.roles.get(tenant) : undefined;
  return role === undefined ? [] : scopesOf(token, role);
}

/** Returns the scopes of the token that the role includes. */
const scopesOf = (token: Token, role: Role): readonly Scope[] =>
  role === "admin" ? token.scopes : MEMBER_SCOPES.filter((scope) => allows(token, scope));

/** Returns the scopes that the token has in every one of these tenants. */
export function commonScopes(token: GrantedToken, tenants: readonly string[]): readonly Scope[] {
  if (token.person === null) return token.scopes;
  const [first, ...others] = tenants.map((tenant) => scopesIn(token, tenant));
  if (!first) return [];
  const isCommon = (scope: Scope) => others.every((scopes) => allows({ scopes }, scope));
  // `admin` includes the scopes of a member, which all of the tenants may have in common.
  if (first.includes("admin") && !isCommon("admin"))
    return MEMBER_SCOPES.filter((scope) => isCommon(scope));
  return first.filter(isCommon);
}

/** Looks up tokens by their hash or id. */
export interface TokenLookup {
  findToken(hash: string): Promise<GrantedToken | undefined>;
  /** Without `wait`, a due check of a person's memberships runs in the background, after the result. */
  getToken(id: string, options?: { wait: boolean }): Promise<GrantedToken | undefined>;
}
