import type { IncomingMessage, ServerResponse } from "node:http";
import type { Answer } from "../../ingest/ingest-outcome.ts";

/** How much of a body that nobody wants is still read, so that its sender can read the answer. */
export const LINGER_BYTES = 1024 * 1024;

export interface SendOptions {
  /** How long the sender of a body that nobody wants has to read the answer. */
  lingerMs: number;
  /** Nothing more should come over this connection. */
  close?: boolean;
}

/**
 * Answers a request. One whose body is still coming is answered all the same, and soon hung up on:
 * at once would do, but then the sender's system throws away the answer with the connection.
 */
export function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: Answer,
  { lingerMs, close = false }: SendOptions,
): void {
  if (response.destroyed) return;
  const unread = !request.complete && announcesBody(request);
  if (close || unread) headers.connection = "close";
  headers["content-length"] = String(Buffer.byteLength(body));
  response.writeHead(status, headers);
  if (!unread) return void response.end(body);

  // The answer is whole without the end of the response, which hangs up.
  response.flushHeaders();
  response.write(body);
  const timer = setTimeout(() => response.end(), lingerMs);
  let read = 0;
  request.on("data", (chunk: Buffer) => {
    read += chunk.byteLength;
    if (read > LINGER_BYTES) request.pause();
  });
  request.on("end", () => response.end());
  response.on("close", () => clearTimeout(timer));
}

const announcesBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
