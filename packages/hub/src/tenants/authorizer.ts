/**
 * Decides what a bearer token or a session may do, for HTTP routes, live streams, MCP and deliveries. A token is
 * cached for one second, so a busy client costs few queries. A revoked token is rejected after at most
 * one second, and its open streams end at the next re-check.
 */
import { bearerToken } from "../lib/bearer-token.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { sha256Hex } from "../lib/hmac.ts";
import type { Scope, Store, Token } from "../store/store.ts";
import { EVERY_TENANT } from "./tokens.ts";

/** What a token may do. */
export interface Access {
  /** The token's id, which is stored with claims. */
  token: string;
  /** The token's name, which is stored with the versions that it publishes. */
  name: string;
  scopes: readonly Scope[];
  /** The tenants whose data the token may read. */
  tenants: readonly string[];
}

/** The HTTP response to a request that is not authorized. */
export class Denied {
  readonly status: 401 | 403 | 421;
  readonly code: string;
  readonly detail: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: Denied["status"],
    code: string,
    detail: string,
    headers: Record<string, string> = {},
  ) {
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.headers = headers;
  }
}

export interface Requirement {
  /**
   * The audiences of the OAuth tokens that may be used for this request (RFC 8707); without it, no
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
}

export interface AuthorizerOptions {
  store: Pick<Store, "findToken" | "getToken">;
  now: () => number;
  /** The clock of the cache. The wall clock can be set back, and revoked tokens would stay valid. */
  monotonic?: () => number;
  /** The tenants of a token for `*`; if undefined, its requests must name a tenant. */
  everyTenant: readonly string[] | undefined;
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
  /** Whether the token still grants all of `access`. */
  recheck(access: Access): Promise<boolean>;
  /**
   * Calls `onRevoked` once when the token no longer grants all of `access`. Returns a function that
   * stops watching.
   */
  watch(access: Access, onRevoked: () => void): () => void;
}

interface Watch {
  access: Access;
  onRevoked(): void;
}

interface CachedToken {
  until: number;
  token: Promise<Token | undefined>;
}

const CACHE_MS = 1_000;
const CACHED_TOKENS = 10_000;
const CACHED_UNKNOWN = 1_000;

export function createAuthorizer({
  store,
  now,
  monotonic = now,
  everyTenant,
  recheckMs = 2_000,
  onUsed = () => {},
  onError = () => {},
}: AuthorizerOptions): Authorizer {
  const cache = new BoundedMap<string, CachedToken>(CACHED_TOKENS);
  /** A separate cache, so that guessed tokens evict no valid one. */
  const unknown = new BoundedMap<string, CachedToken>(CACHED_UNKNOWN);
  const watches = new Map<string, Set<Watch>>();
  let timer: ReturnType<typeof setInterval> | undefined;
  let rechecking = false;

  /** Concurrent requests with one token share a query; a failed query is not cached. */
  const findToken = (secret: string): Promise<Token | undefined> => {
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
    if (rechecking) return;
    rechecking = true;
    for (const [id, watching] of watches)
      try {
        const token = await store.getToken(id);
        for (const watch of watching) {
          if (grants(token, watch.access, now())) continue;
          stopWatching(watch);
          watch.onRevoked();
        }
      } catch (error) {
        onError(error); // during an outage of the store the streams stay open
      }
    rechecking = false;
  };
  const stopWatching = (watch: Watch) => {
    const { token } = watch.access;
    const watching = watches.get(token);
    watching?.delete(watch);
    if (watching?.size === 0) watches.delete(token);
    if (watches.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  return {
    async authorize(authorization, requirement = {}) {
      const { session, scope, tenant, needsTenant = true, audiences = [] } = requirement;
      const bearer = bearerToken(authorization);
      const secret = bearer ?? session;
      if (secret === undefined) return unauthorized("missing");
      const token = secret === "" ? undefined : await findToken(secret);
      const kind = bearer === undefined ? "session" : "token";
      const isOAuth = token?.kind === "oauth" && bearer !== undefined;
      if (!token || (token.kind !== kind && !isOAuth)) return unauthorized("unknown", kind);
      if (isOAuth && (token.resource === null || !audiences.includes(token.resource)))
        return unauthorized("audience");
      if (token.revoked_at !== null) return unauthorized("revoked", kind);
      if (token.expires_at !== null && token.expires_at <= now())
        return unauthorized("expired", kind);
      const tenants = tenantsFor(token, tenant, everyTenant);
      if (tenants.length === 0 && (needsTenant || tenant !== undefined))
        return new Denied(403, "no_tenant", noTenantMessage(tenant));
      if (scope !== undefined && !allows(token, scope))
        return new Denied(403, "insufficient_scope", `The token lacks the scope ${scope}.`);
      onUsed(token.id);
      return { token: token.id, name: token.name, scopes: token.scopes, tenants };
    },
    recheck: async (access) => grants(await store.getToken(access.token), access, now()),
    watch(access, onRevoked) {
      const watch: Watch = { access, onRevoked };
      const watching = watches.get(access.token) ?? new Set();
      watches.set(access.token, watching.add(watch));
      timer ??= setInterval(recheckAll, recheckMs);
      return () => stopWatching(watch);
    },
  };
}

/** `admin` includes all other scopes. */
export const allows = ({ scopes }: Pick<Access, "scopes">, scope: Scope): boolean =>
  scopes.includes(scope) || scopes.includes("admin");

/** Whether the token is valid and grants these scopes on these tenants. */
export const grants = (
  token: Token | undefined,
  { scopes, tenants }: Pick<Access, "scopes" | "tenants">,
  now: number,
): boolean =>
  token !== undefined &&
  token.revoked_at === null &&
  (token.expires_at === null || token.expires_at > now) &&
  scopes.every((scope) => allows(token, scope)) &&
  (token.tenants.includes(EVERY_TENANT) ||
    tenants.every((tenant) => token.tenants.includes(tenant)));

function tenantsFor(
  { tenants }: Token,
  tenant: string | undefined,
  everyTenant: readonly string[] | undefined,
): readonly string[] {
  const isForAll = tenants.includes(EVERY_TENANT);
  if (tenant === undefined) return isForAll ? (everyTenant ?? []) : tenants;
  return isForAll || tenants.includes(tenant) ? [tenant] : [];
}

const noTenantMessage = (tenant: string | undefined): string =>
  tenant === undefined
    ? "The token is valid for all tenants: name one with ?tenant=…"
    : "The token has no access to this tenant.";

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
