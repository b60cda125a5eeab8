/**
 * Why the hub did not answer as it was asked, in words for whoever reads a tool's answer.
 * `unreachable`: it was not sent at all. `lost`: it may have been done, but no answer came.
 */
export type HubErrorCode = "unreachable" | "lost" | "expired" | "refused" | "not_a_hub" | "timeout";

export class HubError extends Error {
  readonly code: HubErrorCode;

  constructor(code: HubErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** `fetch` says "fetch failed", and hides the reason in its cause. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error)
    return cause.message || String((cause as NodeJS.ErrnoException).code ?? cause.name);
  return error.message;
}

/** Whether `fetch` failed before a byte of the request could leave: no name, no route, no trust. */
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
