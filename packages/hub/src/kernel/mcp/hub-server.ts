import {
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { z } from "zod";
import { messageWithField, validationError } from "../lib/request-error.ts";
import { requestContextOf } from "./request-context.ts";
import { paramsError } from "./sdk-errors.ts";

export type Handler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>;

/**
 * If params do not match the schema of a method, the error has the code -32602 (invalid params). The SDK
 * would report -32603 (internal error).
 */
export class HubServer extends Server {
  protected override _wrapHandler(method: string, handler: Handler): Handler {
    const wrapped = super._wrapHandler(method, (request, context) => {
      try {
        return handler(request, context);
      } catch (error) {
        // The SDK validates before it calls our handler, and throws a plain error synchronously.
        if (error instanceof ProtocolError || !(error instanceof Error)) throw error;
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `Invalid params for ${method}: ${messageWithField(toValidationError(error))}`,
        );
      }
    });
    return inBatch(wrapped);
  }
}

/** Makes a handler wait for the earlier requests of its batch. */
const inBatch =
  (handler: Handler): Handler =>
  (request, context) => {
    const batch = requestContextOf(context)?.batch;
    return batch ? batch(context, () => handler(request, context)) : handler(request, context);
  };

/** The message of a `ZodError` is a JSON list of its issues. */
function toValidationError({ message }: Error) {
  try {
    return paramsError({ issues: JSON.parse(message) as z.core.$ZodIssue[] });
  } catch {
    return validationError([{ path: "params", message }]);
  }
}

/** A server whose `tools/call` may return a task; the SDK's own check of the result rejects tasks. */
export class TaskServer extends HubServer {
  protected override _wrapHandler(method: string, handler: Handler): Handler {
    return method === "tools/call" ? inBatch(handler) : super._wrapHandler(method, handler);
  }
}
