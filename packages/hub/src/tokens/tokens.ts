import { ENV_ID_PREFIX, tenantsError } from "@signalbox/contract/scopes.ts";
import { EVERY_TENANT, type Scope } from "../kernel/access/scopes.ts";
import { sha256Hex } from "../kernel/lib/hmac.ts";
import { randomSecret } from "../kernel/lib/random-secret.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import type { Store } from "../store.ts";

const ADMIN_ID = "admin";

export interface NewToken {
  id: string;
  name: string;
  scopes: Scope[];
  tenants: string[];
  /** The person whose memberships limit the token. */
  person?: string | null;
  expiresAt: number | null;
  now: number;
}

/** Returns the secret, which is not stored and cannot be read again. */
export async function createToken(
  store: Pick<Store, "putToken">,
  token: NewToken,
): Promise<string> {
  const message = tenantsError(token.tenants);
  if (message !== undefined) throw new RequestError("invalid", "tenants", message);
  const secret = randomSecret("sbx_");
  await store.putToken({
    id: token.id,
    name: token.name,
    hash: await sha256Hex(secret),
    scopes: token.scopes,
    tenants: token.tenants,
    person: token.person ?? null,
    created_at: token.now,
    expires_at: token.expiresAt,
  });
  return secret;
}

/**
 * Ensures that there is an admin token. A token from the settings is valid while the settings contain
 * it: a start with another token, or without one, revokes it. Returns a token only if this call has
 * created it; if several replicas start with an empty database, one of them does.
 */
export async function ensureAdminToken(
  store: Pick<Store, "putToken" | "replaceTokens">,
  fromSettings: string | undefined,
  now: number,
): Promise<string | undefined> {
  const secret = fromSettings ?? randomSecret("sbx_");
  const hash = await sha256Hex(secret);
  const token = {
    hash,
    scopes: ["admin" as const],
    tenants: [EVERY_TENANT],
    created_at: now,
    expires_at: null,
  };
  if (fromSettings !== undefined) {
    const id = `${ENV_ID_PREFIX}${hash.slice(0, 16)}`;
    await store.replaceTokens(
      ENV_ID_PREFIX,
      { ...token, id, name: "admin, from SIGNALBOX_TOKEN" },
      now,
    );
    return undefined;
  }
  await store.replaceTokens(ENV_ID_PREFIX, undefined, now);
  const created = await store.putToken({
    ...token,
    id: ADMIN_ID,
    name: "admin, created on first start",
  });
  return created ? secret : undefined;
}
