/** The part of `fetch` that libraries use: it streams the response body. */
export type WebFetch = (url: string | URL | Request, init?: WebFetchInit) => Promise<Response>;

interface WebFetchInit extends RequestInit {
  /**
   * Called right before the first bytes are sent; on Node, when the connection is open. If it throws,
   * none are.
   */
  beforeSend?: (() => void) | undefined;
}
