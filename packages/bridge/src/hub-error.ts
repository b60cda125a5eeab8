/**
 * A failed request to the hub. The message is shown in tool results. `unreachable`: the request was not
 * sent. `lost`: the hub may have processed the request, but the response was lost.
 */
export type HubErrorCode =
  | "unreachable"
  | "lost"
  | "expired"
  | "rejected"
  | "not_a_hub"
  | "timeout";

export class HubError extends Error {
  readonly code: HubErrorCode;

  constructor(code: HubErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * The message for a hub that rejects SIGNALBOX_TOKEN. Claude Code redacts what follows "token:" in an
 * error, so no message of the bridge may contain it.
 */
export const rejectedToken = (url: string): string =>
  `The hub at ${url} rejects the token (401). Set SIGNALBOX_TOKEN to a token of this hub. \`npx signalbox token create NAME\`, on the machine of the hub, creates one.`;

/** The message of `fetch` is always "fetch failed"; the reason is in its cause. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error)
    return cause.message || String((cause as NodeJS.ErrnoException).code ?? cause.name);
  return error.message;
}

/** Whether `fetch` failed before sending the request: DNS, connection or TLS errors. */
export function isNeverSent(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  const causes: unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
  return causes.every((one) => {
    const { code = "", syscall = "" } = (one ?? {}) as NodeJS.ErrnoException;
    return (
      syscall === "connect" ||
      syscall === "getaddrinfo" ||
      code === "UND_ERR_CONNECT_TIMEOUT" ||
      /CERT|TLS|SSL|VERIFY/.test(code)
    );
  });
}
