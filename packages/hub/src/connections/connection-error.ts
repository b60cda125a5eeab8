/**
 * `rejected`: the server has answered with an error.
 * `needs_authorization`: a person must authorize the hub, for the first time or again.
 * `invalid_response`: the answer is not valid MCP.
 *
 * After `timeout`, `cancelled`, `unreachable`, `too_large` and `invalid_response`, the server may have
 * executed the call.
 */
export type ConnectionErrorCode =
  | "rejected"
  | "unauthorized"
  | "needs_authorization"
  | "invalid_response"
  | "too_large"
  | "timeout"
  | "cancelled"
  | "unreachable"
  | "address_refused"
  | "invalid_target"
  | "busy"
  | "not_allowed";

/** A failed call through a connection. The message quotes the server's own error, if there is one. */
export class ConnectionError extends Error {
  readonly code: ConnectionErrorCode;

  constructor(code: ConnectionErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
