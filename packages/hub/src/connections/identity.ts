/**
 * Creates the hub's identity in calls: a short-lived JWT in the header `x-mesh-token`. Servers that use
 * `@decocms/runtime` read the connection from its claim `connectionId`.
 */
import { BoundedMap } from "../kernel/lib/bounded-map.ts";
import { deriveHmacKey, type HmacCryptoKey } from "../kernel/lib/seal.ts";

export const IDENTITY_HEADER = "x-mesh-token";

const LIFETIME_S = 300;
/** A token is replaced this long before it expires, so that it stays valid during slow requests. */
const REPLACE_S = 60;
const MAX_CACHED = 2_000;

export interface IdentityOptions {
  /** The key that seals stored secrets. The key of the tokens is derived from it. */
  sealKey: Uint8Array;
  /** The public URL of the hub. It resolves when the hub has started; tokens are signed only then. */
  issuer: Promise<string>;
  now: () => number;
}

interface Cached {
  token: Promise<string>;
  until: number;
}

export type Identity = (connection: string) => Promise<string>;

export function createIdentity({ sealKey, issuer, now }: IdentityOptions): Identity {
  const cached = new BoundedMap<string, Cached>(MAX_CACHED);
  let key: Promise<HmacCryptoKey> | undefined;

  async function sign(connection: string, at: number): Promise<string> {
    const { SignJWT } = await import("jose");
    key ??= deriveHmacKey(sealKey, "signalbox identity");
    return new SignJWT({ connectionId: connection })
      .setProtectedHeader({ alg: "HS256", typ: "JWT" })
      .setIssuer(await issuer)
      .setIssuedAt(at)
      .setExpirationTime(at + LIFETIME_S)
      .sign(await key);
  }

  return (connection) => {
    const at = Math.floor(now() / 1000);
    const entry = cached.get(connection);
    if (entry && at < entry.until) return entry.token;
    const token = sign(connection, at);
    cached.set(connection, { token, until: at + LIFETIME_S - REPLACE_S });
    token.catch(() => cached.delete(connection));
    return token;
  };
}
