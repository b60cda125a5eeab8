/** An error of a call or a definition. Compare by `code`; the message names the field and the fix. */
export class TriggerError extends Error {
  override readonly name = "TriggerError";
  readonly code:
    | "bad_definition"
    | "unknown_type"
    | "bad_params"
    | "bad_data"
    | "bad_callback"
    | "no_connection"
    | "outbox_full"
    | "not_delivered"
    | "closed";

  constructor(code: TriggerError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
