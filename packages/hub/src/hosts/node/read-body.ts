import type { IncomingMessage, ServerResponse } from "node:http";
import type { BodyBudget } from "../../ingest/body-budget.ts";
import { incompleteBody, tooLarge } from "../../ingest/incoming-request.ts";
import type { Rejection } from "../../ingest/ingest-outcome.ts";
import { GrowingBytes } from "./growing-bytes.ts";

/** Emitted on a request whose body will not be complete, with the rejection to send. */
export const BODY_ABORTED = "bodyAborted";

/** A larger body counts until the work with it has settled. */
const SMALL_BODY = 64 * 1024;

/**
 * Reads bodies from the socket. Their bytes count towards the budget from their arrival; those of a
 * rejected body only until its rejection. `onHeld` gets the function that releases a large body: the
 * sandbox may read it even after its sender has disconnected.
 */
export function createBodyReader(budget: BodyBudget) {
  return function readBody(
    request: IncomingMessage,
    response: ServerResponse,
    header: (name: string) => readonly string[],
    limit: number,
    onHeld: (release: () => void) => void,
  ): Promise<Uint8Array | Rejection> {
    const length = Number(header("content-length")[0] ?? limit);
    if (length > limit) return Promise.resolve(tooLarge(limit));
    if (header("expect").length > 0) response.writeContinue();

    return new Promise((resolve) => {
      const bytes = new GrowingBytes(length);
      let finished = false;
      // The listeners stay attached: removing them costs more than one more call.
      const finish = (result: Uint8Array | Rejection) => {
        if (finished) return;
        finished = true;
        const { size } = bytes;
        bytes.free();
        if (size > SMALL_BODY && result instanceof Uint8Array) onHeld(() => budget.release(size));
        else budget.release(size);
        resolve(result);
      };
      const onClose = () => finish(incompleteBody());
      request.on("data", (chunk: Buffer) => {
        if (finished) return; // read and discarded, so that the client can read the response
        const { size } = bytes;
        const rejected =
          size + chunk.byteLength > limit
            ? tooLarge(limit)
            : budget.reserve(chunk.byteLength, size);
        if (rejected) finish(rejected);
        else bytes.append(chunk);
      });
      request.on("end", () => !finished && finish(bytes.end()));
      request.on("close", onClose);
      request.on("error", onClose);
      request.on(BODY_ABORTED, finish);
    });
  };
}
