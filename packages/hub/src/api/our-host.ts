import { BoundedMap } from "@signalbox/rules/bounded-map.ts";
import { isLoopback } from "../ingest/addresses.ts";

/**
 * Whether a `Host` header names this hub. A page of another site that got its own name to point at
 * us (DNS rebinding) comes with that name; addresses and our public name are fine.
 */
export function createIsOurHost({
  host,
  publicUrl,
}: {
  host: string;
  publicUrl: string | undefined;
}): (header: string) => boolean {
  const names = new Set([host.toLowerCase()]);
  if (publicUrl !== undefined) names.add(new URL(publicUrl).hostname.toLowerCase());
  const known = new BoundedMap<string, boolean>(100);
  const isOurs = (header: string): boolean => {
    const hostname = URL.parse(`http://${header}`)?.hostname;
    return (
      hostname !== undefined && (names.has(hostname) || isLoopback(hostname) || isAddress(hostname))
    );
  };
  return (header) => {
    const found = known.get(header) ?? isOurs(header);
    known.set(header, found);
    return found;
  };
}

/** As URLs spell them, which is always in full. */
const isAddress = (name: string) => /^(\d+\.){3}\d+$/.test(name) || name.startsWith("[");

export type IsOurOrigin = (origin: string, host: string) => boolean;

/**
 * Whether the page that a browser names as `Origin` is one of this hub's own: under the address of
 * the request itself, the public one, or this machine's names for our port. Any other address may
 * be anybody's page.
 */
export function createIsOurOrigin({
  port,
  publicUrl,
}: {
  port: number;
  publicUrl: string | undefined;
}): IsOurOrigin {
  const known = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
  return (origin, host) => {
    const page = URL.canParse(origin) ? new URL(origin) : undefined;
    if (page?.protocol !== "http:" && page?.protocol !== "https:") return false;
    // With the scheme of the page: TLS may end at a proxy, and a usual port is left out.
    const asked = `${page.protocol}//${host}`;
    return (
      page.origin === known ||
      (URL.canParse(asked) && page.origin === new URL(asked).origin) ||
      (isLoopback(page.hostname) && page.port === String(port))
    );
  };
}
