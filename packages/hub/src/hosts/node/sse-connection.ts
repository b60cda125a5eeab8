/**
 * Sends Server-Sent Events over HTTP/1.1. `response.write` would split each chunk into three writes, for
 * every client. Here, a text is encoded as a chunk once, and the chunk is written to the sockets of all
 * clients.
 */
import type { ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import type { LiveConnection } from "../../events/live/live-streams.ts";
import { sseEncoder } from "../../events/live/message-encoder.ts";

type Encode = (text: string) => string | Buffer;

export function createSseConnections(): (response: ServerResponse) => LiveConnection {
  let lastText = "";
  let lastChunk = Buffer.alloc(0);
  const toChunk: Encode = (text) => {
    if (text !== lastText) {
      lastText = text;
      lastChunk = Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
    }
    return lastChunk;
  };

  return (response) => {
    let out: Writable = response;
    let encode: Encode = (text) => text;
    let onDrain = () => {};
    // The headers are sent with the first text, so that a failure before it can still set the status.
    const open = () => {
      if (response.headersSent) return;
      response.writeHead(200, {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
      });
      response.flushHeaders();
      // HTTP/1.0 has no chunked encoding.
      if (response.socket && response.chunkedEncoding) {
        out = response.socket;
        encode = toChunk;
      }
      out.on("drain", () => onDrain());
    };
    return {
      encoder: sseEncoder,
      send(text) {
        if (response.writableEnded) return;
        open();
        out.write(encode(text));
      },
      isFull: () => out.writableNeedDrain || response.writableEnded || response.destroyed,
      onDrain(listener) {
        onDrain = listener;
      },
      onClose(listener) {
        // The client may have disconnected while its token was looked up.
        if (response.destroyed) listener();
        else response.on("close", listener);
      },
      close(code, reason) {
        if (response.writableEnded) return void response.destroy();
        open();
        response.end(`event: closed\ndata: ${JSON.stringify({ code, reason })}\n\n`);
      },
    };
  };
}
