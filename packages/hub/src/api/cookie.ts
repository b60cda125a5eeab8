/**
 * Cookies of the hub. They are `HttpOnly`: scripts cannot read them. Browsers send a cookie to all ports
 * of a host, so its name contains the port: several hubs on one machine have separate cookies.
 */

/** The headers of a `Request`, or the subset that is available before a WebSocket upgrade. */
export interface HeaderReader {
  get(name: string): string | null;
}

export interface CookieOptions {
  /**
   * `Strict`: sent with same-site requests only. `Lax`: also with top-level navigations from other
   * sites.
   */
  sameSite: "Strict" | "Lax";
  path: string;
  maxAgeMs: number;
  isHttps: boolean;
}

function nameFor(headers: HeaderReader, name: string): string {
  const port = /:(\d{1,5})$/.exec(headers.get("host") ?? "")?.[1];
  return port === undefined ? name : `${name}_${port}`;
}

/** Undefined if the request has no cookie of this name. */
export function readCookie(headers: HeaderReader, name: string): string | undefined {
  const wanted = nameFor(headers, name);
  for (const pair of headers.get("cookie")?.split(";") ?? []) {
    const [found, ...value] = pair.trim().split("=");
    if (found === wanted) return value.join("=");
  }
  return undefined;
}

/** The value of `Set-Cookie` in the response to a request with these headers. */
export function writeCookie(
  headers: HeaderReader,
  name: string,
  value: string,
  { sameSite, path, maxAgeMs, isHttps }: CookieOptions,
): string {
  const secure = isHttps ? "; Secure" : "";
  return `${nameFor(headers, name)}=${value}; Max-Age=${Math.floor(maxAgeMs / 1000)}; Path=${path}; HttpOnly; SameSite=${sameSite}${secure}`;
}
