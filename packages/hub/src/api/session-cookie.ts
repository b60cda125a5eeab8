/** The cookie of a session, which browsers send with requests of the hub's own pages only. */
import { type HeaderReader, readCookie, writeCookie } from "./cookie.ts";

const NAME = "signalbox_session";

/** The secret of the session; undefined if the request has none. */
export function sessionCookie(headers: HeaderReader): string | undefined {
  const value = readCookie(headers, NAME);
  return value !== undefined && /^[\w-]{1,200}$/.test(value) ? value : undefined;
}

/** The value of `Set-Cookie` in the response to a request with these headers. */
export const setSession = (
  headers: HeaderReader,
  secret: string,
  maxAgeMs: number,
  isHttps = headers.get("origin")?.startsWith("https:") ?? false,
): string =>
  writeCookie(headers, NAME, secret, { sameSite: "Strict", path: "/", maxAgeMs, isHttps });

export const clearSession = (headers: HeaderReader): string => setSession(headers, "", 0);
