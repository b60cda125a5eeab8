import type { OutboundRequest } from "@signalbox/rules/flows/outbound.ts";
import { parseOutboundUrl } from "./outbound-url.ts";

/** The part of a request that a redirect can change. */
export interface Hop {
  method: string;
  url: URL;
  headers: Headers;
  body: OutboundRequest["body"] | undefined;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** The headers that are sent to another origin. Others may contain a secret, such as `x-api-key`. */
const CROSS_ORIGIN_HEADERS = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "content-encoding",
  "content-language",
  "content-type",
  "idempotency-key",
  "range",
  "user-agent",
]);

/** The next request by the rules of `fetch`; undefined if the response is not a redirect. */
export function nextHop(
  { method, url, headers, body }: Hop,
  status: number,
  responseHeaders: Headers,
  { allowHttp }: { allowHttp: boolean },
): Hop | undefined {
  const location = responseHeaders.get("location");
  if (!REDIRECTS.has(status) || location === null) return undefined;
  const next = parseOutboundUrl(location, { allowHttp, base: url.href });
  const becomesGet =
    (status === 303 && method !== "GET" && method !== "HEAD") ||
    ((status === 301 || status === 302) && method === "POST");
  const keptNames = [...headers.keys()].filter(
    (name) =>
      (next.origin === url.origin || CROSS_ORIGIN_HEADERS.has(name)) &&
      !(becomesGet && name.startsWith("content-")),
  );
  return {
    method: becomesGet ? "GET" : method,
    url: next,
    headers: new Headers(keptNames.map((name) => [name, headers.get(name) ?? ""])),
    body: becomesGet ? undefined : body,
  };
}
