/**
 * Decides which addresses the hub may call on behalf of users: public unicast addresses, and private
 * ones that the operator has allowed. All other special-purpose addresses are rejected.
 */
import ipaddr from "ipaddr.js";
import { isInNetworks, parseNetworks } from "../http/addresses.ts";

/** `true` allows all private networks; a list allows exactly its addresses and networks. */
export type AllowPrivate = boolean | readonly string[];

/** Returns why the address must not be called, as a noun phrase; undefined if it may be called. */
export type CheckAddress = (address: string) => string | undefined;

export function createAddressRules(allowPrivate: AllowPrivate): CheckAddress {
  const allowed = typeof allowPrivate === "boolean" ? [] : parseNetworks(allowPrivate);
  return (text) => {
    const address = parse(text);
    if (!address) return "an invalid IP address";
    const inner = unwrap(address);
    const isIn = (networks: Networks) =>
      [address, inner].some((candidate) => isInNetworks(candidate.toString(), networks));
    if (isIn(allowed)) return undefined;
    if (isIn(METADATA)) return "a cloud provider's metadata address";
    const range = rangeOf(inner);
    if (range === "unicast" || (allowPrivate === true && PRIVATE.has(range))) return undefined;
    return DESCRIPTIONS[range] ?? "a special-purpose address";
  };
}

type Networks = ReturnType<typeof parseNetworks>;
type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * Accepts only the notation that resolvers return, because parsers disagree about others of IPv4.
 * IPv6 is parsed by `URL` first, because ipaddr.js reads `::127.0.0.1` as `::ffff:127.0.0.1`.
 */
function parse(text: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  const host = URL.parse(`http://[${text.replace(/%[^%]*$/, "")}]`)?.hostname.slice(1, -1) ?? "";
  return ipaddr.IPv6.isValid(host) ? ipaddr.IPv6.parse(host) : undefined;
}

const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");

/**
 * Returns the IPv4 address in a mapped or NAT64 address, and any other address as it is. NAT64 must
 * work, because networks without IPv4 reach the public IPv4 internet through it. Addresses of legacy
 * tunnels (6to4, Teredo) are always rejected.
 */
function unwrap(address: Address): Address {
  return address instanceof ipaddr.IPv6 && (address.isIPv4MappedAddress() || address.match(NAT64))
    ? new ipaddr.IPv4(address.toByteArray().slice(12))
    : address;
}

const GLOBAL_V6 = ipaddr.IPv6.parseCIDR("2000::/3");

function rangeOf(address: Address): string {
  const range: string = address.range();
  // ipaddr.js reports IPv4-compatible (`::127.0.0.1`) and unassigned addresses as unicast.
  return range === "unicast" && address instanceof ipaddr.IPv6 && !address.match(GLOBAL_V6)
    ? "unassigned"
    : range;
}

const PRIVATE = new Set(["loopback", "private", "uniqueLocal", "carrierGradeNat"]);

/**
 * Metadata services return credentials to any caller. Those of most clouds are link-local. These are
 * not, and stay blocked even if all private networks are allowed: Alibaba, Azure, AWS over IPv6, and
 * Google over IPv6.
 */
const METADATA = parseNetworks([
  "100.100.100.200",
  "168.63.129.16",
  "fd00:ec2::254",
  "fd20:ce::254",
]);

const DESCRIPTIONS: Record<string, string> = {
  loopback: "a loopback address (127.0.0.0/8, ::1)",
  private: "a private address",
  uniqueLocal: "a private address",
  carrierGradeNat: "a carrier's private address (100.64.0.0/10)",
  linkLocal: "a link-local address, where clouds serve metadata",
  multicast: "a multicast address",
  broadcast: "the broadcast address",
  unspecified: "an unspecified address (0.0.0.0/8, ::)",
};
