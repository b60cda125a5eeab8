/**
 * Redirects the pages of a local hub to one host name, which sign-in links contain. A browser sends a
 * cookie only to the host name that has set it. So a page at `localhost` would not have the session that
 * was created at `127.0.0.1`. The API and MCP are available under every loopback name.
 */
import { isLoopback } from "../kernel/http/addresses.ts";
import { PROXY_HEADERS } from "../kernel/http/check-request.ts";
import type { OtherPage } from "../kernel/http/html-page.ts";
import { isReserved } from "./web-ui.ts";

/**
 * Returns the URL of the page under `host`; undefined if the request is not for a page, or already has this host.
 * `others` are the pages that the web UI does not serve.
 */
export function pageAddress(
  { method, url, headers }: Request,
  host: string,
  others: readonly OtherPage[] = [],
): string | undefined {
  if (method !== "GET" || !headers.get("accept")?.includes("text/html")) return undefined;
  // Behind a proxy, the browser may be on another machine.
  if (PROXY_HEADERS.some((name) => headers.has(name))) return undefined;
  const page = new URL(url);
  const other = others.find(({ path }) => path === page.pathname);
  if (!other && isReserved(page.pathname)) return undefined;
  const { origin } = page;
  if (!isLoopback(page.hostname)) return undefined;
  page.hostname = host.includes(":") ? `[${host}]` : host;
  if (page.origin === origin) return undefined;
  other?.onRedirect?.(page, origin);
  return page.href;
}
