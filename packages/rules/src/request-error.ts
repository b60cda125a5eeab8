/** The kind of a `RequestError`. The API maps it to an HTTP status. */
export type RequestErrorCode =
  | "invalid"
  | "not_found"
  | "forbidden"
  | "busy"
  | "conflict"
  | "changed";

export interface FieldError {
  path: string;
  message: string;
}

/** An error that the caller can correct. It names the field and the fix. */
export class RequestError extends Error {
  readonly code: RequestErrorCode;
  readonly field: string;
  /** One entry per invalid field. */
  readonly errors: readonly FieldError[];

  constructor(
    code: RequestErrorCode,
    field: string,
    message: string,
    errors: readonly FieldError[] = [{ path: field, message }],
  ) {
    super(message);
    this.code = code;
    this.field = field;
    this.errors = errors;
  }
}
