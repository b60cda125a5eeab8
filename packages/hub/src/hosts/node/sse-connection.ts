/**
 * Server-Sent Events over HTTP/1.1. `response.write` makes three pieces of every chunk, anew for each
 * client; here the chunk of a text is made once, and goes to the sockets of all who get that text.
 */
import type { ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import { sseWire } from "../../stream/wire.ts";
import type { Connection } from "./live.ts";

type Spell = (text: string) => string | Buffer;

export function createSseConnections(): (response: ServerResponse) => Connection {
  let lastText = "";
  let lastChunk = Buffer.alloc(0);
  const chunkOf: Spell = (text) => {
    if (text !== lastText) {
      lastText = text;
      lastChunk = Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
    }
    return lastChunk;
  };

  return (response) => {
    let out: Writable = response;
    let spell: Spell = (text) => text;
    let onDrain = () => {};
    // Not before the first word: until then a failure can still be answered as one.
    const open = () => {
      if (response.headersSent) return;
      response.writeHead(200, {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
      });
      response.flushHeaders();
      // Not for a client of HTTP/1.0.
      if (response.socket && response.chunkedEncoding) {
        out = response.socket;
        spell = chunkOf;
      }
      out.on("drain", () => onDrain());
    };
    return {
      wire: sseWire,
      send(text) {
        if (response.writableEnded) return;
        open();
        out.write(spell(text));
      },
      isFull: () => out.writableNeedDrain || response.writableEnded || response.destroyed,
      onDrain(told) {
        onDrain = told;
      },
      onEnd(end) {
        // It may have gone while its token was looked up.
        if (response.destroyed) end();
        else response.on("close", end);
      },
      end(code, reason) {
        if (response.writableEnded) return void response.destroy();
        open();
        response.end(`event: closed\ndata: ${JSON.stringify({ code, reason })}\n\n`);
      },
    };
  };
}
