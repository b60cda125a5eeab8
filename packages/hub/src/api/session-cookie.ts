/** The cookie of a session. It is `SameSite=Strict`: browsers send it only with requests of the hub's own site. */
import { type HeaderReader, readCookie, writeCookie } from "./cookie.ts";

const NAME = "signalbox_session";

/** Returns the secret of the session; undefined if the request has none. */
export function sessionCookie(headers: HeaderReader): string | undefined {
  const value = readCookie(headers, NAME);
  return value !== undefined && /^[\w-]{1,200}$/.test(value) ? value : undefined;
}

/** Returns the value of `Set-Cookie`. `headers` are those of the request. */
export const setSession = (
  headers: HeaderReader,
  secret: string,
  maxAgeMs: number,
  isHttps = headers.get("origin")?.startsWith("https:") ?? false,
): string =>
  writeCookie(headers, NAME, secret, { sameSite: "Strict", path: "/", maxAgeMs, isHttps });

export const clearSession = (headers: HeaderReader): string => setSession(headers, "", 0);
