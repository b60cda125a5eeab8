import { type FieldError, RequestError } from "@signalbox/rules/request-error.ts";
import { truncate } from "@signalbox/rules/truncate.ts";
import { MAX_PROBLEM_LENGTH, MAX_PROBLEMS } from "./limits.ts";

export { RequestError, type RequestErrorCode } from "@signalbox/rules/request-error.ts";

/** Returns the message with the field. If there are several errors, the message already names each field. */
export const messageWithField = ({ errors, field, message }: RequestError): string =>
  errors.length > 1 ? message : `${field}: ${message}`;

/**
 * Returns one error for all invalid fields. It lists the first of them and has the number of the
 * others. `total` is the number of invalid fields, in case `errors` does not contain all of them.
 */
export function validationError(
  errors: readonly FieldError[],
  total = errors.length,
): RequestError {
  const listed = errors.slice(0, MAX_PROBLEMS).map(({ path, message }) => ({
    path: truncate(path, MAX_PROBLEM_LENGTH),
    message: truncate(message, MAX_PROBLEM_LENGTH),
  }));
  const [first = { path: "body", message: "is invalid" }] = listed;
  const texts = listed.map(({ path, message }) => `${path}: ${message}`);
  const more = total - listed.length;
  if (more > 0) texts.push(`and ${more.toLocaleString("en")} more`);
  const message = texts.length === 1 ? first.message : texts.join("; ");
  return new RequestError("invalid", first.path, message, listed);
}
