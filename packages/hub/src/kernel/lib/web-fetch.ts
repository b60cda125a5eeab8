/** A `fetch` for the MCP and model client libraries. It streams the response body. */
export type WebFetch = (url: string | URL | Request, init?: WebFetchInit) => Promise<Response>;

interface WebFetchInit extends RequestInit {
  /**
   * Called right before the first bytes are sent; on Node, when the connection is open. If it throws,
   * nothing is sent.
   */
  beforeSend?: (() => void) | undefined;
}
