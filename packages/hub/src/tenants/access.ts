/**
 * Who is asking, by their bearer token. A token that was just seen is remembered for a second, so
 * that a busy agent does not cost a look-up each time; revoking takes effect within that second.
 */
import { BoundedMap } from "@signalbox/rules/bounded-map.ts";
import { sha256Hex } from "../lib/hmac.ts";
import type { Scope, Store } from "../store/store.ts";
import { EVERY_TENANT } from "./tokens.ts";

export interface Access {
  /** Its id, which claims carry. */
  token: string;
  /** As people call it; what they publish carries it. */
  name: string;
  scopes: readonly Scope[];
  /** Whose data it opens. */
  tenants: readonly string[];
}

export type Denied = "missing" | "unknown" | "expired" | "revoked";

export interface AccessOptions {
  store: Pick<Store, "findToken">;
  now: () => number;
  /** What `*` stands for; undefined where the request has to say whom it means. */
  everyTenant: readonly string[] | undefined;
}

const REMEMBER_MS = 1_000;

export interface Accesses {
  /** `tenant` narrows the answer to one tenant; a stranger's gives no tenant at all. */
  check(authorization: string | null | undefined, tenant?: string): Promise<Access | Denied>;
}

export function createAccesses({ store, now, everyTenant }: AccessOptions): Accesses {
  const remembered = new BoundedMap<string, { until: number; found: Promise<Access | Denied> }>(
    10_000,
  );

  const look = async (secret: string): Promise<Access | Denied> => {
    const token = await store.findToken(await sha256Hex(secret));
    if (!token) return "unknown";
    if (token.revoked_at !== null) return "revoked";
    if (token.expires_at !== null && token.expires_at <= now()) return "expired";
    return { token: token.id, name: token.name, scopes: token.scopes, tenants: token.tenants };
  };

  return {
    async check(authorization, tenant) {
      const secret = /^bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
      if (secret === undefined) return "missing";
      let known = remembered.get(secret);
      if (!known || known.until <= now()) {
        known = { until: now() + REMEMBER_MS, found: look(secret) };
        remembered.set(secret, known);
        known.found.catch(() => remembered.delete(secret));
      }
      const found = await known.found;
      if (typeof found === "string") return found;
      return { ...found, tenants: tenantsOf(found.tenants, tenant, everyTenant) };
    },
  };
}

function tenantsOf(
  granted: readonly string[],
  wanted: string | undefined,
  everyTenant: readonly string[] | undefined,
): readonly string[] {
  const all = granted.includes(EVERY_TENANT);
  if (wanted === undefined) return all ? (everyTenant ?? []) : granted;
  return all || granted.includes(wanted) ? [wanted] : [];
}

/** `admin` may do everything. */
export const allows = ({ scopes }: Pick<Access, "scopes">, scope: Scope): boolean =>
  scopes.includes(scope) || scopes.includes("admin");

export const deniedWords: Record<Denied, string> = {
  missing: "Send a token: `Authorization: Bearer sbx_…`. `signalbox token create` makes one.",
  unknown: "This hub does not know the token.",
  expired: "The token has expired. Make another with `signalbox token create`.",
  revoked: "The token was revoked.",
};
