/**
 * Handles the requests of a JSON-RPC batch one after the other, so that one response is built at a
 * time. The SDK would handle them in parallel. When the responses exceed `MAX_BATCH_RESPONSE_BYTES`, the
 * remaining requests are rejected without an effect.
 */
import {
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Json } from "@signalbox/rules/json.ts";
import { MAX_BATCH_RESPONSE_BYTES } from "../lib/limits.ts";

type Work = () => Result | Promise<Result>;

/** Calls `work` after the earlier requests of the batch have their responses. */
export type Batch = (
  context: Pick<ServerContext, "mcpReq" | "http">,
  work: Work,
) => Promise<Result>;

/** Returns undefined if the body is a single message. */
export const batchOf = (body: Json | undefined): Batch | undefined =>
  Array.isArray(body) ? createBatch() : undefined;

export function createBatch(maxBytes = MAX_BATCH_RESPONSE_BYTES): Batch {
  let bytes = 0;
  let previous: Promise<unknown> = Promise.resolve();

  async function next(
    { mcpReq, http }: Pick<ServerContext, "mcpReq" | "http">,
    work: Work,
  ): Promise<Result> {
    // No client reads this response.
    if (mcpReq.signal.aborted || http?.req?.signal.aborted) throw notHandled("was cancelled.");
    if (bytes >= maxBytes)
      throw notHandled(
        `was not handled: the earlier responses of its batch have more than ${maxBytes} bytes, which is the limit. Send it without a batch.`,
      );
    const result = await work();
    bytes += JSON.stringify(result).length;
    return result;
  }

  return (context, work) => {
    const result = previous.then(() => next(context, work));
    // Yields to the event loop before the next request, so that this response is sent first and other
    // clients are served.
    previous = result.catch(() => {}).then(() => new Promise((resolve) => setTimeout(resolve, 0)));
    return result;
  };
}

const notHandled = (message: string) =>
  new ProtocolError(ProtocolErrorCode.InvalidRequest, `Invalid Request: The request ${message}`);
