/** Finds the client's IP address and tests it against networks. IPv4-mapped IPv6 counts as IPv4. */

import type { Context } from "hono";
import ipaddr from "ipaddr.js";

type Network = ReturnType<typeof ipaddr.parseCIDR>;

export function parseNetworks(texts: readonly string[]): Network[] {
  return texts.map((text) => {
    const cidr = text.includes("/")
      ? text
      : `${text}/${ipaddr.parse(text).kind() === "ipv4" ? 32 : 128}`;
    const [address, bits] = ipaddr.parseCIDR(cidr);
    // An IPv4-mapped network is an IPv4 network after its first 96 bits.
    return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96
      ? [address.toIPv4Address(), bits - 96]
      : [address, bits];
  });
}

export function isInNetworks(address: string, networks: readonly Network[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return networks.some(
    // The cast is safe because the kinds are equal, which the types of `match` cannot express.
    (network) => network[0].kind() === parsed.kind() && parsed.match(network as never),
  );
}

export interface TrustedProxy {
  /** The header in which the proxy sends the client's address. */
  header: string;
  /** The proxies' addresses; the header is ignored on requests from any other address. */
  networks: Network[];
}

/**
 * Returns the client's address behind trusted proxies. `X-Forwarded-For` is read from the right, where
 * the trusted proxy appends; values that the client forged are further left and are not read.
 */
export function clientAddress(
  peer: string,
  header: (name: string) => string | undefined,
  proxy: TrustedProxy | undefined,
): string {
  if (!proxy || !isInNetworks(peer, proxy.networks)) return peer;
  const hops = (header(proxy.header) ?? "")
    .split(",")
    .map((hop) => hop.trim())
    .filter((hop) => hop !== "");
  for (const hop of hops.reverse()) {
    if (!ipaddr.isValid(hop)) return peer;
    if (!isInNetworks(hop, proxy.networks)) return hop;
  }
  return peer;
}

/** Returns whether only this machine can reach the host name or address. */
export function isLoopback(host: string): boolean {
  if (host === "localhost") return true;
  const bare = host.replace(/^\[|\]$/g, "");
  return ipaddr.isValid(bare) && ipaddr.process(bare).range() === "loopback";
}

/**
 * Returns the client's address behind trusted proxies. A host passes the address of the other end of the
 * connection in `c.env`: Node in its request object, `incoming`, and other hosts as `peer`.
 */
export function addressOf(c: Context, proxy: TrustedProxy | undefined): string {
  const { incoming, peer } = (c.env ?? {}) as {
    incoming?: { socket?: { remoteAddress?: string } };
    peer?: string;
  };
  const address = incoming?.socket?.remoteAddress ?? peer ?? "";
  return proxy ? clientAddress(address, (name) => c.req.header(name), proxy) : address;
}
