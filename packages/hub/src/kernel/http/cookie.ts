/**
 * Cookies of the hub. They are `HttpOnly`: scripts cannot read them. Browsers send a cookie to all ports
 * of a host, so its name contains the port: several hubs on one machine have separate cookies.
 *
 * If the hub's public URL is https, the cookies are `Secure` and their names begin with `__Host-`: browsers
 * then reject a cookie of this name from http pages and from other hosts of the domain. A hub without such a
 * URL cannot use the prefix, since browsers reject it over http.
 */
import { isHttpsUrl } from "./host-check.ts";

/** The headers of a `Request`, or the subset that is available before a WebSocket upgrade. */
interface HeaderReader {
  get(name: string): string | null;
}

export interface CookieDefinition {
  name: string;
  /**
   * `Strict`: sent with same-site requests only. `Lax`: also with top-level navigations from other
   * sites.
   */
  sameSite: "Strict" | "Lax";
}

export interface Cookie {
  /** Returns the value; undefined if the request has no cookie of this name, or several. */
  read(headers: HeaderReader): string | undefined;
  /**
   * Whether the request has several cookies of this name. Another host of the domain, or another program
   * on this host, may have set one of them, and the request does not show which.
   */
  isAmbiguous(headers: HeaderReader): boolean;
  /** Returns the values of `Set-Cookie`, which also remove other cookies of this name. */
  set(
    request: Pick<Request, "url"> & { headers: HeaderReader },
    value: string,
    maxAgeMs: number,
  ): string[];
  /** Returns the value of `Set-Cookie`. */
  clear(headers: HeaderReader): string;
}

export function createCookie(
  { name, sameSite }: CookieDefinition,
  publicUrl: string | undefined,
): Cookie {
  const isHttps = isHttpsUrl(publicUrl);
  const nameFor = (headers: HeaderReader) => {
    const port = /:(\d{1,5})$/.exec(headers.get("host") ?? "")?.[1];
    return `${isHttps ? "__Host-" : ""}${name}${port === undefined ? "" : `_${port}`}`;
  };
  const valuesIn = (headers: HeaderReader) => {
    const fullName = nameFor(headers);
    return (headers.get("cookie")?.split(";") ?? []).flatMap((pair) => {
      // Not `trim`, which removes more characters: browsers do not reserve the prefix for a name that begins
      // with one of those.
      const [pairName, ...value] = pair.replace(/^[ \t]+|[ \t]+$/g, "").split("=");
      return pairName === fullName ? [value.join("=")] : [];
    });
  };
  const write = (headers: HeaderReader, value: string, maxAgeMs: number) => {
    // The hub does not know whether a proxy terminates TLS, but the page does.
    const secure = isHttps || headers.get("origin")?.startsWith("https:") ? "; Secure" : "";
    return `${nameFor(headers)}=${value}; Max-Age=${Math.floor(maxAgeMs / 1000)}; Path=/; HttpOnly; SameSite=${sameSite}${secure}`;
  };
  return {
    read(headers) {
      const [value, ...others] = valuesIn(headers);
      return others.length === 0 ? value : undefined;
    },
    isAmbiguous: (headers) => valuesIn(headers).length > 1,
    set({ url, headers }, value, maxAgeMs) {
      // No other host can set a cookie with the prefix.
      const others =
        isHttps || valuesIn(headers).length === 0
          ? []
          : scopesOf(url, headers).map((scope) => `${nameFor(headers)}=; Max-Age=0; ${scope}`);
      // Some browsers replace a cookie by one with `Domain`, so the new one is the last.
      return [...others, write(headers, value, maxAgeMs)];
    },
    clear: (headers) => write(headers, "", 0),
  };
}

/**
 * Returns the attributes `Path` and `Domain` of all cookies that browsers send with a request to this URL.
 * Browsers ignore those with the domain of a public suffix, such as `com`.
 */
function scopesOf(url: string, headers: HeaderReader): string[] {
  const segments = new URL(url).pathname.split("/").slice(1);
  const paths = segments.flatMap((_, index) => {
    const path = `/${segments.slice(0, index + 1).join("/")}`;
    return index === segments.length - 1 ? [path] : [path, `${path}/`];
  });
  const hostname = URL.parse(`http://${headers.get("host") ?? ""}`)?.hostname ?? "";
  const labels = /^[\d.]+$|^\[/.test(hostname) ? [] : hostname.split(".");
  const domains = labels.slice(1).map((_, index) => `; Domain=${labels.slice(index).join(".")}`);
  return ["/", ...paths].flatMap((path) =>
    ["", ...domains].map((domain) => `Path=${path}${domain}`),
  );
}

/** The cookie of a session. It is `SameSite=Strict`: browsers send it only with requests of the hub's own site. */

export function createSessionCookie(publicUrl: string | undefined): Cookie {
  const cookie = createCookie({ name: "signalbox_session", sameSite: "Strict" }, publicUrl);
  return {
    ...cookie,
    read(headers) {
      const value = cookie.read(headers);
      return value !== undefined && /^[\w-]{1,200}$/.test(value) ? value : undefined;
    },
  };
}
