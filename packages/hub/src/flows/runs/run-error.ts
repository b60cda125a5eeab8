import { NodeError } from "@signalbox/rules/flows/errors.ts";
import type { RunError } from "./model.ts";
import { RunFailed } from "./step-records.ts";

/** Converts a value that a node has thrown to the error that is stored with the step. */
export function toRunError(error: unknown, node_id: string): RunError {
  if (error instanceof RunFailed) return { ...error.error, node_id };
  if (error instanceof NodeError)
    return {
      code: error.code,
      message: error.message,
      node_id,
      ...(error.details === null ? {} : { details: error.details }),
    };
  const { message, code } = Object(error) as { message?: unknown; code?: unknown };
  return {
    code: typeof code === "string" ? code : "failed",
    message: typeof message === "string" && message !== "" ? message : String(error),
    node_id,
  };
}
