/**
 * `rejected`: the server has answered with an error, so the call had no effect that it reports.
 * `needs_authorization`: a person must authorize the hub (again).
 * `invalid_response`: the answer is not MCP, or its types are wrong. After `timeout`, `cancelled`,
 * `unreachable`, `too_large` and `invalid_response`, the server may have executed the call.
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

/** Why a call through a connection failed, in the server's words if it said any. */
export class ConnectionError extends Error {
  readonly code: ConnectionErrorCode;

  constructor(code: ConnectionErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
