import type { IncomingMessage, ServerResponse } from "node:http";
import type { Answer } from "../../kernel/http/ingest-outcome.ts";

/** How many bytes of a rejected body are still read, so that the client can read the response. */
export const LINGER_BYTES = 1024 * 1024;

export interface SendOptions {
  /** How long a client that is still sending may read the response. */
  lingerMs: number;
  /** Whether to close the connection after the response. */
  close?: boolean;
}

/**
 * Sends a response. If the body is still arriving, the connection closes after `lingerMs`: closing it
 * immediately would reset it, and the client's system would discard the unread response.
 */
export function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: Answer,
  { lingerMs, close = false }: SendOptions,
): void {
  if (response.destroyed) return;
  const isBodyUnread = !request.complete && announcesBody(request);
  if (close || isBodyUnread) headers.connection = "close";
  headers["content-length"] = String(Buffer.byteLength(body));
  response.writeHead(status, headers);
  if (!isBodyUnread) return void response.end(body);

  // The client sees the end of the response by its `content-length`; `end()` would close the connection.
  response.flushHeaders();
  response.write(body);
  const timer = setTimeout(() => response.end(), lingerMs);
  let bytesRead = 0;
  request.on("data", (chunk: Buffer) => {
    bytesRead += chunk.byteLength;
    if (bytesRead > LINGER_BYTES) request.pause();
  });
  request.on("end", () => response.end());
  response.on("close", () => clearTimeout(timer));
}

const announcesBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
