import type { IncomingMessage, ServerResponse } from "node:http";
import type { BodyBudget } from "../../ingest/body-budget.ts";
import { incompleteBody, tooLarge } from "../../ingest/incoming-request.ts";
import type { Rejection } from "../../ingest/ingest-outcome.ts";

/** Emitted on a request whose body will not be complete, with the rejection to send. */
export const BODY_ABORTED = "bodyAborted";

/** Reads bodies from the socket, and counts their bytes while they arrive. */
export function createBodyReader(budget: BodyBudget) {
  return function readBody(
    request: IncomingMessage,
    response: ServerResponse,
    header: (name: string) => readonly string[],
    limit: number,
  ): Promise<Uint8Array | Rejection> {
    if (Number(header("content-length")[0] ?? 0) > limit) return Promise.resolve(tooLarge(limit));
    if (header("expect").length > 0) response.writeContinue();

    return new Promise((resolve) => {
      const chunks: Buffer[] = [];
      let reserved = 0;
      let finished = false;
      // The listeners stay attached: removing them costs more than one more call.
      const finish = (result: Uint8Array | Rejection) => {
        if (finished) return;
        finished = true;
        budget.release(reserved);
        resolve(result);
      };
      const onClose = () => finish(incompleteBody());
      request.on("data", (chunk: Buffer) => {
        if (finished) return; // read and discarded, so that the client can read the response
        const size = chunk.byteLength;
        const rejected = reserved + size > limit ? tooLarge(limit) : budget.reserve(size);
        if (rejected) return finish(rejected);
        reserved += size;
        chunks.push(chunk);
      });
      request.on("end", () =>
        finish(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)),
      );
      request.on("close", onClose);
      request.on("error", onClose);
      request.on(BODY_ABORTED, finish);
    });
  };
}
