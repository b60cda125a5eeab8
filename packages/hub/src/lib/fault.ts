/** Something that the caller can put right: which field, and how. One table maps codes to HTTP. */
export type FaultCode = "invalid" | "not_found" | "forbidden" | "busy" | "conflict" | "changed";

export class Fault extends Error {
  readonly code: FaultCode;
  readonly field: string;
  /** One for each thing that is wrong, where there are several. */
  readonly errors: readonly { path: string; message: string }[];

  constructor(
    code: FaultCode,
    field: string,
    message: string,
    errors: readonly { path: string; message: string }[] = [{ path: field, message }],
  ) {
    super(message);
    this.code = code;
    this.field = field;
    this.errors = errors;
  }
}

/** One fault that names each thing. */
export const severalFaults = (errors: readonly { path: string; message: string }[]): Fault =>
  new Fault(
    "invalid",
    errors[0]?.path ?? "body",
    errors.length === 1
      ? (errors[0]?.message ?? "")
      : errors.map(({ path, message }) => `${path}: ${message}`).join("; "),
    errors.map(({ path, message }) => ({ path, message })),
  );
