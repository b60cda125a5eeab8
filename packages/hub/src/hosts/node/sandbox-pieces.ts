/**
 * Sends large data to a worker process in pieces: serializing and writing 24 MB at once would block the
 * event loop, and take twice the memory.
 */
import type { ChildProcess } from "node:child_process";
import type { SerializedEvaluation } from "@signalbox/rules/flows/evaluation.ts";
import { concat } from "../../kernel/lib/bytes.ts";

type Data = SerializedEvaluation["data"];
export type SandboxMessage = readonly SerializedEvaluation[] | { piece: Data };

const PIECE_LENGTH = 512 * 1024;

/**
 * Only an evaluation that is sent alone has large data. Ignores failures to send: the `error` or `exit`
 * event of the process reports them.
 */
export async function sendInPieces(
  child: Pick<ChildProcess, "send" | "connected">,
  evaluations: readonly SerializedEvaluation[],
): Promise<void> {
  const [evaluation, ...others] = evaluations;
  if (!evaluation) return;
  const { data } = evaluation;
  let at = 0;
  for (; data.length - at > PIECE_LENGTH && child.connected; at += PIECE_LENGTH) {
    const piece = slice(data, at, at + PIECE_LENGTH);
    await new Promise<void>((resolve) => child.send({ piece }, () => resolve()));
  }
  if (child.connected) child.send([{ ...evaluation, data: slice(data, at) }, ...others]);
}

const slice = (data: Data, start: number, end?: number): Data =>
  typeof data === "string" ? data.slice(start, end) : data.subarray(start, end);

/** Joins the pieces in the worker process. Returns the evaluations when the last piece has arrived. */
export function createPieceJoiner(): (message: SandboxMessage) => readonly SerializedEvaluation[] {
  let pieces: Data[] = [];
  return (message) => {
    if ("piece" in message) {
      pieces.push(message.piece);
      return [];
    }
    const [evaluation, ...others] = message;
    if (!evaluation || pieces.length === 0) return message;
    const allPieces = [...pieces, evaluation.data];
    pieces = [];
    const data =
      typeof evaluation.data === "string"
        ? allPieces.join("")
        : concat(allPieces as readonly Uint8Array[]);
    return [{ ...evaluation, data }, ...others];
  };
}
