import { lookup as systemLookup } from "node:dns/promises";
import { isIP } from "node:net";
import { OutboundError } from "@signalbox/rules/flows/outbound.ts";
import { type AllowPrivate, createAddressRules } from "../../kernel/outbound/address-rules.ts";

export interface AddressOptions {
  allowPrivate: AllowPrivate;
  /** Returns all addresses of a name; by default, the system's resolver is used. */
  lookup?: (host: string) => Promise<readonly string[]>;
}

/** Returns the addresses of a host, which is a name or an IP address without brackets. */
export type ResolveHost = (host: string) => Promise<readonly string[]>;

/**
 * Resolves a host and rejects it with an `OutboundError` if the hub must not call it. One forbidden
 * address rejects the name, since any of its addresses may be used.
 */
export function createResolveHost({
  allowPrivate,
  lookup = lookUpAll,
}: AddressOptions): ResolveHost {
  const checkAddress = createAddressRules(allowPrivate);
  /**
   * Concurrent lookups of one name share a result. Node has only four threads for lookups, so many
   * calls of a name whose DNS server does not respond would delay all other lookups.
   */
  const lookups = new Map<string, Promise<readonly string[]>>();

  function shareLookup(host: string): Promise<readonly string[]> {
    const pending = lookups.get(host) ?? resolveName(host).finally(() => lookups.delete(host));
    lookups.set(host, pending);
    return pending;
  }

  async function resolveName(host: string): Promise<readonly string[]> {
    const dnsError = (reason: string, cause?: unknown) =>
      new OutboundError(
        "dns_failed",
        `The name ${host} does not resolve (${reason}). Check its spelling, and the DNS server of the hub.`,
        { cause },
      );
    const addresses = await lookup(host).catch((error: NodeJS.ErrnoException) => {
      throw dnsError(error.code ?? error.message, error);
    });
    if (addresses.length === 0) throw dnsError("no addresses");
    return addresses;
  }

  return async (host) => {
    const addresses = isIP(host) ? [host] : await shareLookup(host);
    for (const address of addresses) {
      const problem = checkAddress(address);
      if (problem === undefined) continue;
      throw new OutboundError(
        "address_refused",
        `${host} ${address === host ? "is" : "resolves to"} ${problem}, which the hub does not call. To allow it, add the address or its network to SIGNALBOX_ALLOW_PRIVATE.`,
      );
    }
    return addresses;
  };
}

const lookUpAll = async (host: string) =>
  (await systemLookup(host, { all: true })).map(({ address }) => address);
