import type { IncomingMessage, ServerResponse } from "node:http";
import { tooLarge } from "../../ingest/incoming-request.ts";
import { type Rejection, rejection } from "../../ingest/ingest-outcome.ts";

export const incomplete = (): Rejection =>
  rejection("body_incomplete", "The connection ended before the whole body had arrived.");

/** Told to a request whose body will not come to its end, with the rejection that says why. */
export const CUT_SHORT = "cutShort";

/**
 * Reads bodies straight from the socket, counting as it goes. All bodies in flight together have a
 * budget, so that many large ones cannot exhaust the memory.
 */
export function createBodyReader(budgetBytes: number) {
  let held = 0;

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
      let size = 0;
      let finished = false;
      // The listeners stay: taking them off costs more than being called once more.
      const finish = (result: Uint8Array | Rejection) => {
        if (finished) return;
        finished = true;
        held -= size;
        resolve(result);
      };
      const onClose = () => finish(incomplete());
      request.on("data", (chunk: Buffer) => {
        if (finished) return; // what still comes is dropped, and the answer can be read
        size += chunk.byteLength;
        held += chunk.byteLength;
        chunks.push(chunk);
        if (size > limit) finish(tooLarge(limit));
        else if (held > budgetBytes)
          finish(
            rejection("busy", "Too many large bodies at once; send it again.", { retryAfter: 1 }),
          );
      });
      request.on("end", () =>
        finish(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)),
      );
      request.on("close", onClose);
      request.on("error", onClose);
      request.on(CUT_SHORT, finish);
    });
  };
}
