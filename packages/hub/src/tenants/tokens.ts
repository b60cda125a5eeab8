/** Access tokens: 256 random bits, shown once, kept as SHA-256. */
import { sha256Hex, toBase64 } from "../lib/hmac.ts";
import type { Scope, Store } from "../store/store.ts";

export const scopes: readonly Scope[] = ["inbox:read", "inbox:write", "flows:call", "admin"];
export const EVERY_TENANT = "*";
const ADMIN_ID = "admin";

export const randomSecret = (prefix: string): string =>
  prefix +
  toBase64(crypto.getRandomValues(new Uint8Array(32)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

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
 * Sees to it that an admin can get in. Answers with a token only where it just made one: of several
 * replicas that start at once on an empty database, one.
 */
export async function ensureAdminToken(
  store: Pick<Store, "putToken">,
  given: string | undefined,
  now: number,
): Promise<string | undefined> {
  const secret = given ?? randomSecret("sbx_");
  const hash = await sha256Hex(secret);
  const created = await store.putToken({
    id: given === undefined ? ADMIN_ID : `env-${hash.slice(0, 16)}`,
    name: given === undefined ? "admin, made on first start" : "admin, from SIGNALBOX_TOKEN",
    hash,
    scopes: ["admin"],
    tenants: [EVERY_TENANT],
    created_at: now,
    expires_at: null,
  });
  return given === undefined && created ? secret : undefined;
}
