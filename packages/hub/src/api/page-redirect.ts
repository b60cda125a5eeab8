/**
 * Leads the pages of a local hub to one host name. A browser sends a cookie to the host name that has set
 * it, and sign-in links have this one: a page at `localhost` would not see that session. The API and
 * MCP are available under every loopback name.
 */
import { isLoopback } from "../ingest/addresses.ts";
import { PROXY_HEADERS } from "../ingest/check-request.ts";
import { AUTHORIZE, DEVICE } from "./oauth-paths.ts";
import { isReserved } from "./web-ui.ts";

const OAUTH_PAGES = [AUTHORIZE, DEVICE];

/** The address of the same page under `host`; undefined if the request is for no page, or is there. */
export function pageAddress({ method, url, headers }: Request, host: string): string | undefined {
  if (method !== "GET" || !headers.get("accept")?.includes("text/html")) return undefined;
  // The browser may be on another machine.
  if (PROXY_HEADERS.some((name) => headers.has(name))) return undefined;
  const page = new URL(url);
  if (!OAUTH_PAGES.includes(page.pathname) && isReserved(page.pathname)) return undefined;
  const { origin } = page;
  if (!isLoopback(page.hostname)) return undefined;
  page.hostname = host.includes(":") ? `[${host}]` : host;
  if (page.origin === origin) return undefined;
  // The default of the parameter: the hub under the name that the client uses.
  if (page.pathname === AUTHORIZE && !page.searchParams.has("resource"))
    page.searchParams.set("resource", origin);
  return page.href;
}

/** The hub's URL for the client whose page was redirected: the client compares it with its own. */
export function issuerFor(resource: string | undefined, hub: string): string {
  const asked = URL.parse(resource ?? "");
  const own = new URL(hub);
  const isSameHub =
    asked?.protocol === own.protocol &&
    asked.port === own.port &&
    isLoopback(asked.hostname) &&
    isLoopback(own.hostname);
  return isSameHub ? asked.origin : hub;
}
