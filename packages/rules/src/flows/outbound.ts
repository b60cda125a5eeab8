/**
 * Calls to addresses that others chose. Whoever implements `GuardedFetch` promises: every address
 * that a name resolves to was checked, the connection goes to a checked one and to no other, and
 * time and size are bounded. Everything that goes wrong is an `OutboundError`.
 */
export type GuardedFetch = (request: OutboundRequest) => Promise<OutboundResponse>;

export interface OutboundRequest {
  method: string;
  url: string;
  /** `host`, `content-length` and the like are the connection's own, and left out. */
  headers: Readonly<Record<string, string>>;
  body?: Uint8Array;
  /** Counted after decompression. */
  maxResponseBytes: number;
  /** For everything together: DNS, connecting, redirects, the last byte of the body. */
  timeoutMs: number;
  signal?: AbortSignal;
  /** How many redirects to follow; with none, the redirect itself is the response. */
  redirects?: number;
  /** Without it only https is called, also after a redirect. */
  allowHttp?: boolean;
}

export interface OutboundResponse {
  status: number;
  /** They describe `body`: once decompressed, the encoding and the length on the wire are gone. */
  headers: Headers;
  body: Uint8Array;
  /** Who answered in the end. */
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
