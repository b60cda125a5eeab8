import type { IncomingMessage, ServerResponse } from "node:http";
import { tooLarge } from "../../ingest/arrival.ts";
import { type Refusal, refuse } from "../../ingest/outcome.ts";

/**
 * Reads bodies straight from the socket, counting as it goes. All bodies in flight together have a
 * budget, so that many large ones cannot exhaust the memory.
 */
export function createBodyReader(budgetBytes: number) {
  let held = 0;

  return function readBody(
    request: IncomingMessage,
    response: ServerResponse,
    limit: number,
  ): Promise<Uint8Array | Refusal> {
    if (Number(request.headersDistinct["content-length"]?.[0] ?? 0) > limit)
      return Promise.resolve(tooLarge(limit));
    if (request.headersDistinct.expect) response.writeContinue();

    return new Promise((resolve) => {
      const chunks: Buffer[] = [];
      let size = 0;
      const finish = (result: Uint8Array | Refusal) => {
        request.off("data", onData).off("end", onEnd).off("close", onClose).off("error", onClose);
        held -= size;
        resolve(result);
      };
      const onData = (chunk: Buffer) => {
        size += chunk.byteLength;
        held += chunk.byteLength;
        chunks.push(chunk);
        if (size > limit) finish(tooLarge(limit));
        else if (held > budgetBytes)
          finish(
            refuse("busy", "Too many large bodies at once; send it again.", { retryAfter: 1 }),
          );
        else return;
        request.resume(); // what still comes is dropped, and the answer can be read
      };
      const onEnd = () =>
        finish(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
      const onClose = () =>
        finish(
          refuse("body_incomplete", "The connection ended before the whole body had arrived."),
        );
      request.on("data", onData).on("end", onEnd).on("close", onClose).on("error", onClose);
    });
  };
}
