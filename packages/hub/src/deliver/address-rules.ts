/**
 * Which addresses the hub may call for others. Only plain addresses of the public internet; all
 * else needs the operator's word. New kinds of special address are refused until they are known.
 */
import ipaddr from "ipaddr.js";
import { isInNetworks, parseNetworks } from "../ingest/addresses.ts";

/** `true` opens private networks as a whole; a list opens exactly its addresses and networks. */
export type AllowPrivate = boolean | readonly string[];

/** What is wrong with calling the address, as a noun; `undefined` where nothing is. */
export type JudgeAddress = (address: string) => string | undefined;

export function createAddressRules(allowPrivate: AllowPrivate): JudgeAddress {
  const listed = typeof allowPrivate === "boolean" ? [] : parseNetworks(allowPrivate);
  return (text) => {
    const address = parse(text);
    if (!address) return "something that is no IP address";
    const inner = embedded(address);
    const isIn = (networks: Networks) =>
      [address, inner].some((one) => isInNetworks(one.toString(), networks));
    if (isIn(listed)) return undefined;
    if (isIn(METADATA)) return "a cloud provider's metadata address";
    const range = rangeOf(inner);
    if (range === "unicast" || (allowPrivate === true && PRIVATE.has(range))) return undefined;
    return WORDS[range] ?? "an address of special use";
  };
}

type Networks = ReturnType<typeof parseNetworks>;
type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * As resolvers write them: other spellings of IPv4 mean different things to different readers. IPv6
 * goes through URL, since ipaddr.js takes the deprecated `::127.0.0.1` for `::ffff:127.0.0.1`.
 */
function parse(text: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  const host = URL.parse(`http://[${text.replace(/%[^%]*$/, "")}]`)?.hostname.slice(1, -1) ?? "";
  return ipaddr.IPv6.isValid(host) ? ipaddr.IPv6.parse(host) : undefined;
}

const NAT64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");

/**
 * The IPv4 address that is reached in truth. NAT64 is how a network without IPv4 calls the public
 * internet, so it is judged by what is inside; older tunnels (6to4, Teredo) serve nobody any more,
 * and are refused whatever is in them.
 */
function embedded(address: Address): Address {
  return address instanceof ipaddr.IPv6 && (address.isIPv4MappedAddress() || address.match(NAT64))
    ? new ipaddr.IPv4(address.toByteArray().slice(12))
    : address;
}

const GLOBAL_V6 = ipaddr.IPv6.parseCIDR("2000::/3");

function rangeOf(address: Address): string {
  const range: string = address.range();
  // IPv4-compatible ones (`::127.0.0.1`) and all that is not assigned count as unicast otherwise.
  return range === "unicast" && address instanceof ipaddr.IPv6 && !address.match(GLOBAL_V6)
    ? "unassigned"
    : range;
}

const PRIVATE = new Set(["loopback", "private", "uniqueLocal", "carrierGradeNat"]);

/**
 * They hand out credentials to whoever asks. Those of most clouds are link-local; these are not, and
 * even `true` keeps them shut: Alibaba, Azure, AWS and Google over IPv6.
 */
const METADATA = parseNetworks([
  "100.100.100.200",
  "168.63.129.16",
  "fd00:ec2::254",
  "fd20:ce::254",
]);

const WORDS: Record<string, string> = {
  loopback: "a loopback address (127.0.0.0/8, ::1)",
  private: "a private address",
  uniqueLocal: "a private address",
  carrierGradeNat: "a carrier's private address (100.64.0.0/10)",
  linkLocal: "a link-local address, where clouds keep their metadata",
  multicast: "a multicast address",
  broadcast: "the broadcast address",
  unspecified: "an unspecified address (0.0.0.0/8, ::)",
};
