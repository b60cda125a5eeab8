import { Denied } from "../access/authorizer.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { MAX_HOST_LENGTH } from "../lib/limits.ts";
import { isLoopback } from "./addresses.ts";

export interface HostCheckOptions {
  host: string;
  port: number;
  publicUrl: string | undefined;
  /** Additional host names of the hub. */
  hosts?: readonly string[] | undefined;
}

/** Checks the `Host` and `Origin` headers of a request. */
export type HostCheck = (host: string, origin?: string | undefined) => Denied | undefined;

export function createHostCheck(options: HostCheckOptions): HostCheck {
  const isHubHost = createIsHubHost(options);
  const isHubOrigin = createIsHubOrigin(options);
  const { publicUrl } = options;
  const insecureOrigin = new Denied(
    403,
    "foreign_origin",
    `Requests from http pages are rejected, since SIGNALBOX_PUBLIC_URL is https. Open ${publicUrl} instead.`,
  );
  return (host, origin) => {
    if (host.length > MAX_HOST_LENGTH) return HOST_TOO_LONG;
    if (!isHubHost(host)) return WRONG_HOST;
    if (origin === undefined) return undefined;
    if (!isHubOrigin(origin, host)) return FOREIGN_ORIGIN;
    return isHttpsUrl(publicUrl) && isInsecure(origin) ? insecureOrigin : undefined;
  };
}

export const isHttpsUrl = (url: string | undefined): boolean =>
  url !== undefined && new URL(url).protocol === "https:";

/** Browsers treat pages of the loopback address like https: the network cannot change them. */
function isInsecure(origin: string): boolean {
  const { protocol, hostname } = new URL(origin);
  return protocol === "http:" && !isLoopback(hostname);
}

const WRONG_HOST = new Denied(
  421,
  "wrong_host",
  "The Host header does not name this hub. Set SIGNALBOX_PUBLIC_URL to the address that you use, or add its name to SIGNALBOX_HOSTS.",
);
const HOST_TOO_LONG = new Denied(
  421,
  "wrong_host",
  `The Host header exceeds the limit of ${MAX_HOST_LENGTH} characters.`,
);
/**
 * Browsers add no token to requests from pages of other sites. But such a page must not be able to guess
 * tokens either.
 */
const FOREIGN_ORIGIN = new Denied(
  403,
  "foreign_origin",
  "Requests from web pages of other origins are rejected.",
);

/**
 * Creates a function that returns whether a `Host` header names this hub. In a DNS rebinding attack, the
 * header contains the attacker's name. IP addresses, loopback names and the hub's own names are accepted.
 */
function createIsHubHost({
  host,
  publicUrl,
  hosts = [],
}: HostCheckOptions): (header: string) => boolean {
  const names = new Set([host, ...hosts].map((name) => name.toLowerCase()));
  if (publicUrl !== undefined) names.add(new URL(publicUrl).hostname.toLowerCase());
  const cache = new BoundedMap<string, boolean>(100);
  const isHub = (header: string): boolean => {
    const hostname = URL.parse(`http://${header}`)?.hostname;
    return (
      hostname !== undefined && (names.has(hostname) || isLoopback(hostname) || isAddress(hostname))
    );
  };
  return (header) => {
    const result = cache.get(header) ?? isHub(header);
    cache.set(header, result);
    return result;
  };
}

/** `hostname` is that of a URL, so it is normalized: IPv4 has four decimal parts, IPv6 has brackets. */
const isAddress = (hostname: string) =>
  /^(\d+\.){3}\d+$/.test(hostname) || hostname.startsWith("[");

/**
 * Creates a function that returns whether an `Origin` is that of a page of this hub: the host of the
 * request, the public URL, or a loopback name with the hub's port. Any other origin can belong to another
 * site.
 */
function createIsHubOrigin({
  port,
  publicUrl,
}: HostCheckOptions): (origin: string, host: string) => boolean {
  const publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
  return (origin, host) => {
    const page = URL.canParse(origin) ? new URL(origin) : undefined;
    if (page?.protocol !== "http:" && page?.protocol !== "https:") return false;
    // The hub does not know the scheme of the request, since a proxy may terminate TLS. So the scheme of
    // the page is used here. `URL` omits default ports.
    const requestOrigin = `${page.protocol}//${host}`;
    return (
      page.origin === publicOrigin ||
      (URL.canParse(requestOrigin) && page.origin === new URL(requestOrigin).origin) ||
      (isLoopback(page.hostname) && page.port === String(port))
    );
  };
}
