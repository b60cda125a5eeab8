import { isLoopback } from "../kernel/http/addresses.ts";
import type { OtherPage } from "../kernel/http/html-page.ts";

/** The paths of the authorization server's pages. */
export const AUTHORIZE = "/oauth/authorize";
export const DEVICE = "/oauth/device";

export const oauthPages: readonly OtherPage[] = [
  { path: DEVICE },
  {
    path: AUTHORIZE,
    onRedirect(page, origin) {
      // `resource` defaults to the origin that the client uses, which the redirect would change.
      if (!page.searchParams.has("resource")) page.searchParams.set("resource", origin);
    },
  },
];

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
