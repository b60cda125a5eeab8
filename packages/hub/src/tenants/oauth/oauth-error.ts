/** An error of an OAuth endpoint: the code that the RFCs define, and a description for developers. */
export class OAuthError extends Error {
  readonly error: string;
  readonly status: 400 | 401;

  constructor(error: string, description: string, status: 400 | 401 = 400) {
    super(description);
    this.error = error;
    this.status = status;
  }
}

export const unknownClient = () =>
  new OAuthError("invalid_client", "This hub does not know the client. Register it again.", 401);
