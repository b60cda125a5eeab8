/**
 * Requests to URLs of users. An implementation of `GuardedFetch` guarantees: every address to which
 * the host name resolves is checked, the connection uses a checked address, and time and size are
 * limited. It rejects only with `OutboundError`.
 */
export type GuardedFetch = (request: OutboundRequest) => Promise<OutboundResponse>;

export interface OutboundRequest {
  method: string;
  url: string;
  /** Headers of the connection, such as `host` and `content-length`, are ignored. */
  headers: Readonly<Record<string, string>>;
  body?: Uint8Array;
  /** The maximum size of the body after decompression. */
  maxResponseBytes: number;
  /** The time limit for the whole exchange: DNS, connection, redirects and body. */
  timeoutMs: number;
  signal?: AbortSignal;
  /** How many redirects to follow. With 0, a redirect is returned as the response. */
  redirects?: number;
  /** Called when the connection is open, before the first byte is sent. If it throws, nothing is sent. */
  beforeSend?: () => void;
  /** Allows http URLs. By default only https is allowed, also after a redirect. */
  allowHttp?: boolean;
}

export interface OutboundResponse {
  status: number;
  /** Contains no `content-encoding` and no `content-length` if the body was decompressed. */
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
