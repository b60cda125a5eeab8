import type { IncomingMessage, ServerResponse } from "node:http";
import type { BodyBudget } from "../../ingest/body-budget.ts";
import { incompleteBody, tooLarge } from "../../ingest/incoming-request.ts";
import type { Rejection } from "../../ingest/ingest-outcome.ts";

/** Emitted on a request whose body will not be complete, with the rejection to send. */
export const BODY_ABORTED = "bodyAborted";

/** A larger body counts until its response is complete. */
const SMALL_BODY = 64 * 1024;

/**
 * Reads bodies from the socket. Their bytes count towards the budget from their arrival; those of a
 * rejected body only until its rejection.
 */
export function createBodyReader(budget: BodyBudget) {
  return function readBody(
    request: IncomingMessage,
    response: ServerResponse,
    header: (name: string) => readonly string[],
    limit: number,
  ): Promise<Uint8Array | Rejection> {
    const length = Number(header("content-length")[0] ?? limit);
    if (length > limit) return Promise.resolve(tooLarge(limit));
    if (header("expect").length > 0) response.writeContinue();

    return new Promise((resolve) => {
      let buffer: Buffer = EMPTY;
      let size = 0;
      let finished = false;
      // The listeners stay attached: removing them costs more than one more call. They must not
      // reference the bytes of a finished body.
      const finish = (result: Uint8Array | Rejection) => {
        if (finished) return;
        finished = true;
        buffer = EMPTY;
        if (size > SMALL_BODY && result instanceof Uint8Array && !response.destroyed)
          response.once("close", () => budget.release(size));
        else budget.release(size);
        resolve(result);
      };
      const onClose = () => finish(incompleteBody());
      request.on("data", (chunk: Buffer) => {
        if (finished) return; // read and discarded, so that the client can read the response
        const total = size + chunk.byteLength;
        const rejected = total > limit ? tooLarge(limit) : budget.reserve(chunk.byteLength, size);
        if (rejected) return finish(rejected);
        buffer = append(buffer, size, chunk, length);
        size = total;
      });
      request.on("end", () => finish(size === buffer.length ? buffer : buffer.subarray(0, size)));
      request.on("close", onClose);
      request.on("error", onClose);
      request.on(BODY_ABORTED, finish);
    });
  };
}

const EMPTY = Buffer.alloc(0);

/**
 * Appends to the first `size` bytes of a buffer, which grows as the body arrives: the announced length
 * is only a claim. A list of chunks would take twice the memory when they are joined, and leave
 * fragments that the allocator does not return to the operating system.
 */
function append(buffer: Buffer, size: number, chunk: Buffer, length: number): Buffer {
  if (size === 0) return chunk;
  const total = size + chunk.byteLength;
  let target = buffer;
  if (total > buffer.length) {
    target = Buffer.allocUnsafeSlow(Math.max(total, Math.min(2 * total, length)));
    buffer.copy(target, 0, 0, size);
  }
  chunk.copy(target, size);
  return target;
}
