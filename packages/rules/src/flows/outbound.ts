/**
 * Requests to URLs that users chose. An implementation of `GuardedFetch` guarantees: every address
 * that a name resolves to is checked, the connection uses a checked address, and time and size are
 * limited. It rejects only with `OutboundError`.
 */
export type GuardedFetch = (request: OutboundRequest) => Promise<OutboundResponse>;

export interface OutboundRequest {
  method: string;
  url: string;
  /** The connection sets `host`, `content-length` and the like; these are ignored. */
  headers: Readonly<Record<string, string>>;
  body?: Uint8Array;
  /** Counted after decompression. */
  maxResponseBytes: number;
  /** For the whole exchange: DNS, connection, redirects and body. */
  timeoutMs: number;
  signal?: AbortSignal;
  /** How many redirects to follow; with 0, a redirect is the response. */
  redirects?: number;
  /** Otherwise only https is allowed, also after a redirect. */
  allowHttp?: boolean;
}

export interface OutboundResponse {
  status: number;
  /** Without the encoding and length of a body that was decompressed. */
  headers: Headers;
  body: Uint8Array;
  /** The URL after redirects. */
  url: string;
}

export type OutboundErrorCode =
  | "invalid_url"
  | "invalid_request"
  | "address_refused"
  | "dns_failed"
  | "connection_refused"
  | "tls_error"
  | "timeout"
  | "aborted"
  | "too_large"
  | "too_many_redirects"
  | "network";

export class OutboundError extends Error {
  readonly code: OutboundErrorCode;

  constructor(code: OutboundErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
