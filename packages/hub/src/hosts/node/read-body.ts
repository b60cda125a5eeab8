import type { IncomingMessage, ServerResponse } from "node:http";
import { incompleteBody, tooLarge } from "../../events/admit/receive-request.ts";
import type { BodyBudget } from "../../kernel/http/body-budget.ts";
import type { Rejection } from "../../kernel/http/ingest-outcome.ts";
import { GrowingBytes } from "./growing-bytes.ts";

/** Emitted on a request whose body will not be complete, with the rejection to send. */
export const BODY_ABORTED = "bodyAborted";

/** The bytes of a larger body stay reserved until its request has been processed. */
const MAX_SMALL_BODY = 64 * 1024;

/**
 * Reads bodies from the socket, and reserves their bytes in the budget as they arrive. They are released
 * when the body is complete or rejected, except those of a large complete body: `onLargeBody` gets a
 * function that releases them, since a job may read the body even after its sender has
 * disconnected.
 */
export function createBodyReader(budget: BodyBudget) {
  return function readBody(
    request: IncomingMessage,
    response: ServerResponse,
    header: (name: string) => readonly string[],
    limit: number,
    onLargeBody: (release: () => void) => void,
  ): Promise<Uint8Array | Rejection> {
    const length = Number(header("content-length")[0] ?? limit);
    if (length > limit) return Promise.resolve(tooLarge(limit));
    if (header("expect").length > 0) response.writeContinue();

    return new Promise((resolve) => {
      const bytes = new GrowingBytes(length);
      let isFinished = false;
      // The listeners stay attached: removing them would cost more than a further call of `finish`.
      const finish = (result: Uint8Array | Rejection) => {
        if (isFinished) return;
        isFinished = true;
        const { size } = bytes;
        bytes.free();
        if (size > MAX_SMALL_BODY && result instanceof Uint8Array)
          onLargeBody(() => budget.release(size));
        else budget.release(size);
        resolve(result);
      };
      const onClose = () => finish(incompleteBody());
      request.on("data", (chunk: Buffer) => {
        if (isFinished) return; // read and discarded, so that the client can read the response
        const { size } = bytes;
        const rejected =
          size + chunk.byteLength > limit
            ? tooLarge(limit)
            : budget.reserve(chunk.byteLength, size);
        if (rejected) finish(rejected);
        else bytes.append(chunk);
      });
      request.on("end", () => !isFinished && finish(bytes.end()));
      request.on("close", onClose);
      request.on("error", onClose);
      request.on(BODY_ABORTED, finish);
    });
  };
}
