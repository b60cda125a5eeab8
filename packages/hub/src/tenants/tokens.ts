/** Access tokens: 256 random bits, shown once, kept as SHA-256. */

import { sha256Hex, toBase64 } from "../lib/hmac.ts";
import { RequestError } from "../lib/request-error.ts";
import type { Scope, Store } from "../store/store.ts";

export const scopes: readonly Scope[] = ["inbox:read", "inbox:write", "flows:call", "admin"];
export const EVERY_TENANT = "*";
/** The longest that a token is given for; without an end it may be good for ever. */
export const MAX_DAYS = 36_500;
/** Of one token: a cursor names a place in each of their logs, and has to fit into a header. */
export const MAX_TENANTS = 200;
const MAX_TENANTS_LENGTH = 4_000;
const ADMIN_ID = "admin";
const GIVEN = "env-";

export const randomSecret = (prefix: string): string =>
  prefix +
  toBase64(crypto.getRandomValues(new Uint8Array(32)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

/** Why a token cannot be for all of them; undefined where it can. */
export function tenantsFault(tenants: readonly string[]): string | undefined {
  if (!tenants.every((tenant) => tenant.isWellFormed())) return "must be ids of tenants";
  const length = tenants.map(encodeURIComponent).join("").length;
  return tenants.length > MAX_TENANTS || length > MAX_TENANTS_LENGTH
    ? `must be at most ${MAX_TENANTS}, with ${MAX_TENANTS_LENGTH} characters together; make several tokens, or one for ${EVERY_TENANT}`
    : undefined;
}

export interface NewToken {
  id: string;
  name: string;
  scopes: Scope[];
  tenants: string[];
  expiresAt: number | null;
  now: number;
}

/** Answers with the token itself; it cannot be had again. */
export async function createToken(
  store: Pick<Store, "putToken">,
  token: NewToken,
): Promise<string> {
  const fault = tenantsFault(token.tenants);
  if (fault !== undefined) throw new RequestError("invalid", "tenants", fault);
  const secret = randomSecret("sbx_");
  await store.putToken({
    id: token.id,
    name: token.name,
    hash: await sha256Hex(secret),
    scopes: token.scopes,
    tenants: token.tenants,
    created_at: token.now,
    expires_at: token.expiresAt,
  });
  return secret;
}

/**
 * Sees to it that an admin can get in. A given token is good for as long as it is given: another one,
 * or none, revokes it. Answers with a token only where it just made one: of several replicas that
 * start at once on an empty database, one.
 */
export async function ensureAdminToken(
  store: Pick<Store, "putToken" | "replaceTokens">,
  given: string | undefined,
  now: number,
): Promise<string | undefined> {
  const secret = given ?? randomSecret("sbx_");
  const hash = await sha256Hex(secret);
  const token = {
    hash,
    scopes: ["admin" as const],
    tenants: [EVERY_TENANT],
    created_at: now,
    expires_at: null,
  };
  if (given !== undefined) {
    const id = `${GIVEN}${hash.slice(0, 16)}`;
    await store.replaceTokens(GIVEN, { ...token, id, name: "admin, from SIGNALBOX_TOKEN" }, now);
    return undefined;
  }
  await store.replaceTokens(GIVEN, undefined, now);
  const created = await store.putToken({
    ...token,
    id: ADMIN_ID,
    name: "admin, made on first start",
  });
  return created ? secret : undefined;
}
