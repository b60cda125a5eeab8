import { isLoopback } from "../kernel/http/addresses.ts";

/** The paths of the authorization server's pages. */
export const AUTHORIZE = "/oauth/authorize";
export const DEVICE = "/oauth/device";

/**
 * Returns the hub's URL as the client knows it, which the client compares with its own. If the page was
 * redirected, that is the origin of `resource`.
 */
export function issuerFor(resource: string | undefined, hub: string): string {
  const resourceUrl = URL.parse(resource ?? "");
  const hubUrl = new URL(hub);
  const isSameHub =
    resourceUrl?.protocol === hubUrl.protocol &&
    resourceUrl.port === hubUrl.port &&
    isLoopback(resourceUrl.hostname) &&
    isLoopback(hubUrl.hostname);
  return isSameHub ? resourceUrl.origin : hub;
}
