/** Why the hub did not do what it was asked, in words for whoever reads a tool's answer. */
export type HubErrorCode = "unreachable" | "expired" | "refused" | "not_a_hub" | "timeout";

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
