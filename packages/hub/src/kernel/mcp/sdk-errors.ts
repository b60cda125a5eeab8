import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";
import { firstIssues } from "@signalbox/rules/flows/issues.ts";
import { z } from "zod";
import { MAX_PROBLEMS } from "../lib/limits.ts";
import { messageWithField, RequestError, validationError } from "../lib/request-error.ts";
import { isStorageUnavailable, unavailableDetail } from "../store/availability.ts";

/** The message for unexpected errors, which hides their cause from clients. */
const INTERNAL_ERROR =
  "The hub failed to handle the request; its log has the reason. Try again later.";

/** Reports an unexpected error, and returns the message for the client. */
export function unexpectedError(error: unknown, onError: (error: unknown) => void): string {
  onError(error);
  return isStorageUnavailable(error) ? unavailableDetail(error) : INTERNAL_ERROR;
}

/**
 * Returns whether a client caused the error that the SDK reports. The SDK has already sent a
 * response.
 */
export const isClientError = ({ message }: Error): boolean =>
  /^(Rejected|Unsupported (Media Type|protocol version)|subscriptions\/listen refused)/.test(
    message,
  );

export const errorResult = (text: string): CallToolResult => ({
  isError: true,
  content: [{ type: "text", text }],
});

export const invalidParams = (message: string) =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, message);

/** Hides the message of unexpected errors, which the SDK would send to the client. */
export function toProtocolError(error: unknown, onError: (error: unknown) => void): ProtocolError {
  if (error instanceof ProtocolError) return error;
  if (error instanceof RequestError) return invalidParams(error.message);
  if (error instanceof z.ZodError) return invalidParams(messageWithField(paramsError(error)));
  return new ProtocolError(ProtocolErrorCode.InternalError, unexpectedError(error, onError));
}

/** One error for all invalid arguments of a tool call. It names each argument and its rule. */
export function argumentError(
  error: z.ZodError,
  tool: string,
  argumentNames: readonly string[],
): RequestError {
  const unexpected = `unexpected argument; ${tool} has ${argumentNames.join(", ") || "none"}`;
  const { issues, total } = firstIssues(error, MAX_PROBLEMS);
  const errors = issues.map(({ keys, path, message, isUnknownField }) =>
    isUnknownField && keys.length === 1
      ? { path: path.slice(0, 100), message: unexpected }
      : { path: keys.length > 0 ? path : "arguments", message },
  );
  return validationError(errors, total);
}

/** One error for all invalid params of a request. */
export function paramsError(error: Pick<z.ZodError, "issues">): RequestError {
  const { issues, total } = firstIssues(error, MAX_PROBLEMS);
  return validationError(
    issues.map(({ keys, path, message }) => ({ path: keys.length > 0 ? path : "params", message })),
    total,
  );
}
