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
