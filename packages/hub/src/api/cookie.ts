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

function nameWithPort(headers: HeaderReader, name: string): string {
  const port = /:(\d{1,5})$/.exec(headers.get("host") ?? "")?.[1];
  return port === undefined ? name : `${name}_${port}`;
}

/** Returns the value of a cookie; undefined if the request does not have it. */
export function readCookie(headers: HeaderReader, name: string): string | undefined {
  const fullName = nameWithPort(headers, name);
  for (const pair of headers.get("cookie")?.split(";") ?? []) {
    const [pairName, ...value] = pair.trim().split("=");
    if (pairName === fullName) return value.join("=");
  }
  return undefined;
}

/** Returns the value of `Set-Cookie`. `headers` are those of the request. */
export function writeCookie(
  headers: HeaderReader,
  name: string,
  value: string,
  { sameSite, path, maxAgeMs, isHttps }: CookieOptions,
): string {
  const secure = isHttps ? "; Secure" : "";
  return `${nameWithPort(headers, name)}=${value}; Max-Age=${Math.floor(maxAgeMs / 1000)}; Path=${path}; HttpOnly; SameSite=${sameSite}${secure}`;
}
