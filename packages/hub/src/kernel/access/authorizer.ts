import { bearerToken, TOKEN_TOO_LONG } from "../http/request-token.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { sha256Hex } from "../lib/hmac.ts";
import { RequestError } from "../lib/request-error.ts";
import {
  allows,
  commonScopes,
  EVERY_TENANT,
  type GrantedToken,
  roleHint,
  type Scope,
  scopesIn,
  type TokenLookup,
} from "./scopes.ts";
import { type DescribeTenantChoice, TENANT_CHOICE } from "./tenant-choice.ts";

/** What a token may do. */
export interface Access {
  /** The token's id, which is stored with claims. */
  token: string;
  /** The token's name, which is stored with the versions that it publishes. */
  name: string;
  /** The scopes that the token has in every one of `tenants`. */
  scopes: readonly Scope[];
  /** The tenants whose data the token may read. */
  tenants: readonly string[];
  /** The person whom the token represents. */
  person?: string;
  /** The tenants in which the person is admin. Set if `scopes` does not include `admin`. */
  adminTenants?: readonly string[];
}

/** The HTTP response to a request that is not authorized. */
export class Denied {
  readonly status: 401 | 403 | 421 | 503;
  readonly code: string;
  readonly detail: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The parameter of the request that is missing. */
  readonly missing: "tenant" | undefined;

  constructor(
    status: Denied["status"],
    code: string,
    detail: string,
    headers: Record<string, string> = {},
    missing?: "tenant",
  ) {
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.headers = headers;
    this.missing = missing;
  }
}

export interface Requirement {
  /**
   * The audiences of the OAuth tokens that may be used for this request (RFC 8707). If undefined, no
   * OAuth token is accepted.
   */
  audiences?: readonly string[] | undefined;
  /** The secret of a session, which is used if there is no bearer token. */
  session?: string | undefined;
  scope?: Scope | undefined;
  /** Narrows the access to this tenant. */
  tenant?: string | undefined;
  /** False for data that all tenants share: a request with a token for `*` then needs no tenant. */
  needsTenant?: boolean | undefined;
  /**
   * Whether a request with a token for `*` may name no tenant, although data belongs to tenants. Its access
   * then has no tenants.
   */
  mayChooseTenantLater?: boolean | undefined;
}

export interface AuthorizerOptions {
  store: TokenLookup;
  now: () => number;
  /** The clock of the cache. The wall clock can be set back, and revoked tokens would stay valid. */
  monotonic?: () => number;
  /** The tenants of a token for `*`; if undefined, its requests must name a tenant. */
  everyTenant: readonly string[] | undefined;
  /** The message to a token for `*` whose request names no tenant. */
  describeTenantChoice?: DescribeTenantChoice | undefined;
  /** How often the tokens of `watch` are checked again. */
  recheckMs?: number;
  /** Called for each authorized request. */
  onUsed?: (token: string) => void;
  onError?: (error: unknown) => void;
}

export interface Authorizer {
  authorize(
    authorization: string | null | undefined,
    requirement?: Requirement,
  ): Promise<Access | Denied>;
  /** Returns whether the token still grants all of `access`. */
  recheck(access: Access): Promise<boolean>;
  /**
   * Calls `onRevoked` once when the token no longer grants all of `access`. Returns a function that
   * stops watching.
   */
  watch(access: Access, onRevoked: () => void): () => void;
  /**
   * Ends the watches of all access to a deleted tenant, also of tokens for all tenants, which stay valid.
   */
  endTenant(tenant: string): void;
}

interface Watch {
  access: Access;
  onRevoked(): void;
}

interface CachedToken {
  until: number;
  token: Promise<GrantedToken | undefined>;
}

const CACHE_MS = 1_000;
const MAX_CACHED_TOKENS = 10_000;
const MAX_CACHED_UNKNOWN = 1_000;

export function createAuthorizer({
  store,
  now,
  monotonic = now,
  everyTenant,
  describeTenantChoice = async () => TENANT_CHOICE,
  recheckMs = 2_000,
  onUsed = () => {},
  onError = () => {},
}: AuthorizerOptions): Authorizer {
  const cache = new BoundedMap<string, CachedToken>(MAX_CACHED_TOKENS);
  /** A separate cache, so that guessed tokens do not evict valid ones. */
  const unknown = new BoundedMap<string, CachedToken>(MAX_CACHED_UNKNOWN);
  const watches = new Map<string, Set<Watch>>();
  let timer: ReturnType<typeof setInterval> | undefined;
  let isRechecking = false;

  /** Concurrent requests with the same token share a query. A failed query is not cached. */
  const findToken = (secret: string): Promise<GrantedToken | undefined> => {
    const cached = cache.get(secret) ?? unknown.get(secret);
    if (cached && cached.until > monotonic()) return cached.token;
    const token = sha256Hex(secret).then(store.findToken);
    const entry = { until: monotonic() + CACHE_MS, token };
    unknown.delete(secret);
    cache.set(secret, entry);
    token.then(
      (found) => {
        if (found) return;
        cache.delete(secret);
        unknown.set(secret, entry);
      },
      () => cache.delete(secret),
    );
    return token;
  };

  /** Sends one query per token, for all its streams. */
  const recheckAll = async () => {
    // While the database is slow, queries must not accumulate.
    if (isRechecking) return;
    isRechecking = true;
    for (const [id, tokenWatches] of watches)
      try {
        // Does not wait for GitHub, which may be slow: the next re-check gets the result.
        const token = await store.getToken(id, { wait: false });
        for (const watch of tokenWatches) {
          if (grants(token, watch.access, now())) continue;
          stopWatching(watch);
          watch.onRevoked();
        }
      } catch (error) {
        onError(error); // during an outage of the store the streams stay open
      }
    isRechecking = false;
  };
  const stopWatching = (watch: Watch) => {
    const { token } = watch.access;
    const tokenWatches = watches.get(token);
    tokenWatches?.delete(watch);
    if (tokenWatches?.size === 0) watches.delete(token);
    if (watches.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  return {
    async authorize(authorization, requirement = {}) {
      const { session, scope, tenant, needsTenant = true, audiences = [] } = requirement;
      const { mayChooseTenantLater = false } = requirement;
      const bearer = bearerToken(authorization);
      const secret = bearer ?? session;
      if (secret === undefined) return unauthorized("missing");
      if (bearer === "") return new Denied(401, "token_unknown", TOKEN_TOO_LONG);
      const token = secret === "" ? undefined : await findToken(secret);
      const kind = bearer === undefined ? "session" : "token";
      const isOAuth = token?.kind === "oauth" && bearer !== undefined;
      if (!token || (token.kind !== kind && !isOAuth)) return unauthorized("unknown", kind);
      if (isOAuth && (token.resource === null || !audiences.includes(token.resource)))
        return unauthorized("audience");
      if (token.revoked_at !== null) return unauthorized("revoked", kind);
      if (token.expires_at !== null && token.expires_at <= now())
        return unauthorized("expired", kind);
      if (token.roles === "unconfirmed") return UNCONFIRMED;
      const tokenTenants = tenantsFor(token, tenant, everyTenant);
      if (tokenTenants.length === 0 && (needsTenant || tenant !== undefined)) {
        const canChoose = tenant === undefined && token.person === null;
        if (!canChoose || !mayChooseTenantLater) {
          if (!canChoose) return new Denied(403, "no_tenant", noTenantMessage(tenant));
          return new Denied(403, "no_tenant", await describeTenantChoice(), {}, "tenant");
        }
      }
      const tenants = tenantsWith(token, tokenTenants, scope);
      const scopes = commonScopes(token, tenants);
      if (scope !== undefined && !allows({ scopes }, scope))
        return new Denied(403, "insufficient_scope", lacksScopeMessage(token, scope));
      onUsed(token.id);
      const access: Access = { token: token.id, name: token.name, scopes, tenants };
      if (token.person === null) return access;
      return {
        ...access,
        person: token.person,
        ...(!allows(access, "admin") && {
          adminTenants: tenantsWith(token, tokenTenants, "admin"),
        }),
      };
    },
    recheck: async (access) => grants(await store.getToken(access.token), access, now()),
    watch(access, onRevoked) {
      const watch: Watch = { access, onRevoked };
      const tokenWatches = watches.get(access.token) ?? new Set();
      watches.set(access.token, tokenWatches.add(watch));
      timer ??= setInterval(recheckAll, recheckMs);
      return () => stopWatching(watch);
    },
    endTenant(tenant) {
      cache.clear();
      for (const watch of [...watches.values()].flatMap((tokenWatches) => [...tokenWatches])) {
        if (!watch.access.tenants.includes(tenant)) continue;
        stopWatching(watch);
        watch.onRevoked();
      }
    },
  };
}

/**
 * Narrows the access to the tenants in which it includes the scope, because a person may be admin of only
 * some tenants. Returns undefined if there is no such tenant.
 */
export function narrowTo(access: Access, scope: Scope): Access | undefined {
  if (allows(access, scope)) return access;
  const { adminTenants: tenants = [], ...rest } = access;
  return tenants.length === 0 ? undefined : { ...rest, scopes: ["admin"], tenants };
}

/** Returns whether the token is neither revoked nor expired. */
export const isActive = ({ revoked_at, expires_at }: GrantedToken, now: number): boolean =>
  revoked_at === null && (expires_at === null || expires_at > now);

/** Returns whether the token is valid and grants these scopes in these tenants. */
export const grants = (
  token: GrantedToken | undefined,
  { scopes, tenants }: Pick<Access, "scopes" | "tenants">,
  now: number,
): boolean =>
  token !== undefined &&
  isActive(token, now) &&
  scopes.every((scope) => allows(token, scope)) &&
  tenants.every((tenant) => {
    const granted = scopesIn(token, tenant);
    return granted.length > 0 && scopes.every((scope) => allows({ scopes: granted }, scope));
  });

function tenantsFor(
  token: GrantedToken,
  tenant: string | undefined,
  everyTenant: readonly string[] | undefined,
): readonly string[] {
  if (tenant !== undefined) return scopesIn(token, tenant).length > 0 ? [tenant] : [];
  if (token.person === null)
    return token.tenants.includes(EVERY_TENANT) ? (everyTenant ?? []) : token.tenants;
  return token.tenants.filter((candidate) => scopesIn(token, candidate).length > 0);
}

/**
 * Returns the tenants in which the token allows the scope. A token without a person has the same
 * scopes in all.
 */
const tenantsWith = (
  token: GrantedToken,
  tenants: readonly string[],
  scope: Scope | undefined,
): readonly string[] =>
  scope === undefined || token.person === null
    ? tenants
    : tenants.filter((tenant) => allows({ scopes: scopesIn(token, tenant) }, scope));

function noTenantMessage(tenant: string | undefined): string {
  if (tenant === EVERY_TENANT) return "The token is not valid for all tenants (*).";
  return tenant !== undefined
    ? "The token has no access to this tenant."
    : "Neither your account nor an organization of which you are a member has installed the GitHub App of this hub.";
}

const lacksScopeMessage = (token: GrantedToken, scope: Scope): string =>
  token.person === null
    ? `The token lacks the scope ${scope}.`
    : `The scope ${scope} is missing: you need a token with this scope, and a role that includes it.${roleHint(token)}`;

const UNCONFIRMED = new Denied(
  503,
  "memberships_unconfirmed",
  "GitHub does not respond, and your memberships were confirmed too long ago. Try again in a minute.",
  { "retry-after": "30" },
);

const SESSION_ENDED = new Denied(
  401,
  "session_ended",
  "This session has ended. Sign in again: `npx signalbox open` prints a link.",
);

const MESSAGES = {
  missing:
    "Send a token: `Authorization: Bearer sbx_…`. `npx signalbox token create NAME` creates one.",
  unknown: "The token is unknown to this hub.",
  expired: "The token has expired. Create another one with `npx signalbox token create NAME`.",
  revoked: "The token was revoked.",
  audience: "The token was issued for another resource. Authorize again for this one.",
};

const unauthorized = (
  reason: keyof typeof MESSAGES,
  kind: "token" | "session" = "token",
): Denied =>
  kind === "session" ? SESSION_ENDED : new Denied(401, `token_${reason}`, MESSAGES[reason]);

/** Throws unless the token is valid for all tenants: only operators may see data of the whole hub. */
export async function assertForAllTenants(tokens: TokenLookup, { token }: Access): Promise<void> {
  if (!(await tokens.getToken(token))?.tenants.includes(EVERY_TENANT))
    throw new RequestError("forbidden", "token", "must be valid for all tenants (*)");
}

/** Returns the tenant of a request that must name exactly one. With `everyTenant`, it may be `*`. */
export function onlyTenant(
  { tenants: [tenant, another] }: Pick<Access, "tenants">,
  { everyTenant = false }: { everyTenant?: boolean } = {},
): string {
  if (tenant === undefined || another !== undefined)
    throw new RequestError("invalid", "tenant", "is missing: name one with ?tenant=…");
  if (tenant === EVERY_TENANT && !everyTenant)
    throw new RequestError("invalid", "tenant", "must be one tenant, not all");
  return tenant;
}
