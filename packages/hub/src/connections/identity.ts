/**
 * Creates the hub's identity in calls: a short-lived JWT in the header `x-mesh-token`. Servers that use
 * `@decocms/runtime` read the connection from its claim `connectionId`.
 */
import { BoundedMap } from "../lib/bounded-map.ts";
import { utf8 } from "../lib/bytes.ts";

export const IDENTITY_HEADER = "x-mesh-token";

const LIFETIME_S = 300;
/** A token is replaced this long before it expires, so that it stays valid during slow requests. */
const REPLACE_S = 60;
const MAX_CACHED = 2_000;

export interface IdentityOptions {
  /** The key that seals stored secrets. The key of the tokens is derived from it. */
  sealKey: Uint8Array;
  /** The public URL of the hub. */
  issuer: () => string;
  now: () => number;
}

interface Cached {
  token: Promise<string>;
  issuer: string;
  until: number;
}

export type Identity = (connection: string) => Promise<string>;

export function createIdentity({ sealKey, issuer, now }: IdentityOptions): Identity {
  const cached = new BoundedMap<string, Cached>(MAX_CACHED);
  let key: Promise<SigningKey> | undefined;

  async function sign(connection: string, iss: string, at: number): Promise<string> {
    const { SignJWT } = await import("jose");
    key ??= deriveKey(sealKey);
    return new SignJWT({ connectionId: connection })
      .setProtectedHeader({ alg: "HS256", typ: "JWT" })
      .setIssuer(iss)
      .setIssuedAt(at)
      .setExpirationTime(at + LIFETIME_S)
      .sign(await key);
  }

  return (connection) => {
    const at = Math.floor(now() / 1000);
    const entry = cached.get(connection);
    const iss = issuer();
    if (entry && at < entry.until && entry.issuer === iss) return entry.token;
    const token = sign(connection, iss, at);
    cached.set(connection, { token, issuer: iss, until: at + LIFETIME_S - REPLACE_S });
    token.catch(() => cached.delete(connection));
    return token;
  };
}

type SigningKey = Awaited<ReturnType<typeof crypto.subtle.deriveKey>>;

async function deriveKey(sealKey: Uint8Array): Promise<SigningKey> {
  const secret = await crypto.subtle.importKey("raw", new Uint8Array(sealKey), "HKDF", false, [
    "deriveKey",
  ]);
  return crypto.subtle.deriveKey(
    { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: utf8("signalbox identity") },
    secret,
    { name: "HMAC", hash: "SHA-256", length: 256 },
    false,
    ["sign"],
  );
}
