import { issuesOf } from "@signalbox/rules/flows/issues.ts";
import type { z } from "zod";
import { RequestError } from "../lib/request-error.ts";

/** One error for all invalid arguments of a tool call. It names each argument and its rule. */
export function argumentError(
  error: z.ZodError,
  tool: string,
  known: readonly string[],
): RequestError {
  const unexpected = `unexpected argument; ${tool} has ${known.join(", ") || "none"}`;
  const errors = issuesOf(error).map(({ keys, path, message, isUnknownField }) =>
    isUnknownField && keys.length === 1
      ? { path: path.slice(0, 100), message: unexpected }
      : { path: keys.length > 0 ? path : "arguments", message },
  );
  const [first = { path: "arguments", message: "are invalid" }, ...rest] = errors;
  const more = rest.map(({ path, message }) => `; ${path}: ${message}`);
  return new RequestError("invalid", first.path, first.message + more.join(""), errors);
}
