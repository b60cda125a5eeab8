/** The rules of requests to other servers: their URL, headers and redirects. */
import { OutboundError, type OutboundRequest } from "@signalbox/rules/flows/outbound.ts";

/** Parses and checks a URL before its host is resolved. Throws an `OutboundError`. */
export function parseOutboundUrl(text: string, { allowHttp = false, base = "" } = {}): URL {
  const url = base === "" ? URL.parse(text) : URL.parse(text, base);
  const invalidUrl = (message: string) => new OutboundError("invalid_url", message);
  if (!url)
    throw invalidUrl("The URL is not valid. Write it in full, such as https://example.com/hook.");
  if (url.protocol !== "https:" && !(allowHttp && url.protocol === "http:"))
    throw invalidUrl(
      `The URL has the protocol ${url.protocol}, which is not allowed. Use ${allowHttp ? "http: or " : ""}https:.`,
    );
  // The message does not repeat the credentials: it may be logged or shown to others.
  if (url.username !== "" || url.password !== "")
    throw invalidUrl(
      `The URL for ${url.host} contains a user name or a password. Send them in an Authorization header instead.`,
    );
  return url;
}

/**
 * These headers are removed from requests, because the HTTP client sets them itself. With `expect`, Node
 * would wait for a 100 Continue.
 */
export const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

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
