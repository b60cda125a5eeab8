/** IP addresses: who is the client, and is it in a list of networks. IPv4-mapped IPv6 is IPv4. */
import ipaddr from "ipaddr.js";

type Network = ReturnType<typeof ipaddr.parseCIDR>;

export function parseNetworks(texts: readonly string[]): Network[] {
  return texts.map((text) => {
    const cidr = text.includes("/")
      ? text
      : `${text}/${ipaddr.parse(text).kind() === "ipv4" ? 32 : 128}`;
    const [address, bits] = ipaddr.parseCIDR(cidr);
    // A mapped network is a network of IPv4: its first 96 bits only say so.
    return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96
      ? [address.toIPv4Address(), bits - 96]
      : [address, bits];
  });
}

export function isInNetworks(address: string, networks: readonly Network[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return networks.some(
    (network) => network[0].kind() === parsed.kind() && parsed.match(network as never),
  );
}

export interface TrustedProxy {
  /** The header in which the proxy puts the client's address. */
  header: string;
  /** Where proxies connect from; a header from anybody else is not believed. */
  networks: Network[];
}

/**
 * The client behind our proxies. `X-Forwarded-For` is read from its right end, where our own proxy
 * writes; whatever a client put there itself stays further left and is never reached.
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

/** Reachable only from this machine. */
export function isLoopback(host: string): boolean {
  if (host === "localhost") return true;
  const bare = host.replace(/^\[|\]$/g, "");
  return ipaddr.isValid(bare) && ipaddr.process(bare).range() === "loopback";
}
