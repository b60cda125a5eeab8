/**
 * Sends large data to a worker process in pieces: serializing and writing 24 MB at once would block the
 * event loop, and take twice the memory.
 */
import type { ChildProcess } from "node:child_process";
import type { SerializedRequest } from "../../kernel/jobs/job.ts";
import { concat } from "../../kernel/lib/bytes.ts";

type Data = SerializedRequest["data"];
export type JobMessage = readonly SerializedRequest[] | { piece: Data };

const PIECE_LENGTH = 512 * 1024;

/**
 * Only a job that is sent alone has large data. Ignores failures to send: the `error` or `exit`
 * event of the process reports them.
 */
export async function sendInPieces(
  child: Pick<ChildProcess, "send" | "connected">,
  requests: readonly SerializedRequest[],
): Promise<void> {
  const [request, ...others] = requests;
  if (!request) return;
  const { data } = request;
  let at = 0;
  for (; data.length - at > PIECE_LENGTH && child.connected; at += PIECE_LENGTH) {
    const piece = slice(data, at, at + PIECE_LENGTH);
    await new Promise<void>((resolve) => child.send({ piece }, () => resolve()));
  }
  if (child.connected) child.send([{ ...request, data: slice(data, at) }, ...others]);
}

const slice = (data: Data, start: number, end?: number): Data =>
  typeof data === "string" ? data.slice(start, end) : data.subarray(start, end);

/** Joins the pieces in the worker process. Returns the requests when the last piece has arrived. */
export function createPieceJoiner(): (message: JobMessage) => readonly SerializedRequest[] {
  let pieces: Data[] = [];
  return (message) => {
    if ("piece" in message) {
      pieces.push(message.piece);
      return [];
    }
    const [request, ...others] = message;
    if (!request || pieces.length === 0) return message;
    const allPieces = [...pieces, request.data];
    pieces = [];
    const data =
      typeof request.data === "string"
        ? allPieces.join("")
        : concat(allPieces as readonly Uint8Array[]);
    return [{ ...request, data }, ...others];
  };
}
