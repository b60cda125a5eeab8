import type { Context } from "hono";
import { clientAddress, type TrustedProxy } from "./addresses.ts";

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
