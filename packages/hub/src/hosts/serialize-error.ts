/**
 * Serializes an error for the log: its type, message, code and stack, and those of its cause. Other
 * properties are omitted: errors of drivers and HTTP clients contain whole connections, with keys
 * and passwords.
 */
export function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return typeof error === "object" ? String(error) : error;
  const { name, message, stack, cause } = error;
  const code = "code" in error && typeof error.code !== "object" ? error.code : undefined;
  return {
    type: name,
    message,
    ...(code !== undefined && { code }),
    stack,
    ...(cause !== undefined && { cause: serializeError(cause) }),
  };
}
