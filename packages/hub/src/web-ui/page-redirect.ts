/**
 * Redirects the pages of a local hub to one host name, which sign-in links contain. A browser sends a
 * cookie only to the host name that has set it. So a page at `localhost` would not have the session that
 * was created at `127.0.0.1`. The API and MCP are available under every loopback name.
 */
import { isLoopback } from "../kernel/http/addresses.ts";
import { PROXY_HEADERS } from "../kernel/http/check-request.ts";
import { AUTHORIZE, DEVICE } from "../oauth/oauth-paths.ts";
import { isReserved } from "./web-ui.ts";

const OAUTH_PAGES = [AUTHORIZE, DEVICE];

/** Returns the URL of the page under `host`; undefined if the request is not for a page, or already has this host. */
export function pageAddress({ method, url, headers }: Request, host: string): string | undefined {
  if (method !== "GET" || !headers.get("accept")?.includes("text/html")) return undefined;
  // Behind a proxy, the browser may be on another machine.
  if (PROXY_HEADERS.some((name) => headers.has(name))) return undefined;
  const page = new URL(url);
  if (!OAUTH_PAGES.includes(page.pathname) && isReserved(page.pathname)) return undefined;
  const { origin } = page;
  if (!isLoopback(page.hostname)) return undefined;
  page.hostname = host.includes(":") ? `[${host}]` : host;
  if (page.origin === origin) return undefined;
  // `resource` defaults to the origin that the client uses, which the redirect would change.
  if (page.pathname === AUTHORIZE && !page.searchParams.has("resource"))
    page.searchParams.set("resource", origin);
  return page.href;
}
