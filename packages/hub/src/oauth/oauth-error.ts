type Status = 400 | 401 | 503;

/** An error of an OAuth endpoint: the code that the RFCs define, and a description for developers. */
export class OAuthError extends Error {
  readonly error: string;
  readonly status: Status;
  /** The delay after which the client should repeat the request. */
  readonly retryAfterMs: number | undefined;

  constructor(error: string, description: string, status: Status = 400, retryAfterMs?: number) {
    super(description);
    this.error = error;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

export const unknownClient = () =>
  new OAuthError("invalid_client", "This hub does not know the client. Register it again.", 401);
