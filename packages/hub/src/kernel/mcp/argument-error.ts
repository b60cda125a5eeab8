import { firstIssues } from "@signalbox/rules/flows/issues.ts";
import type { z } from "zod";
import { MAX_PROBLEMS } from "../lib/limits.ts";
import { type RequestError, validationError } from "../lib/request-error.ts";

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
