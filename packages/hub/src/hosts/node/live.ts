/**
 * Serves live streams on Node: `GET /events` and `GET /api/live` as Server-Sent Events, and `GET /events`
 * as a WebSocket if the client requests an upgrade. Both write to the socket without a Web stream in
 * between.
 */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex, Writable } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import {
  isAnswer,
  type LiveConnection,
  type LiveRequest,
  type LiveStreams,
  liveUnavailable,
} from "../../events/live/live-streams.ts";
import { socketEncoder, sseEncoder } from "../../events/live/message-encoder.ts";
import { limitSocket } from "../../kernel/lib/limit-socket.ts";
import { SOCKET_LIMITS } from "../../kernel/lib/limits.ts";

export interface LiveTransportOptions {
  streams: LiveStreams;
  onError: (error: unknown) => void;
}

export function createLiveTransport({ streams, onError }: LiveTransportOptions) {
  const toSseConnection = createSseConnections();
  const socketServer = new WebSocketServer({
    noServer: true,
    maxPayload: SOCKET_LIMITS.messageBytes,
    autoPong: false, // pings are answered below, within the limits
  });

  return {
    async serveSse(request: IncomingMessage, response: ServerResponse): Promise<void> {
      if (!response.socket) await waitForSocket(response);
      if (response.destroyed) return;
      const subscription = await streams.authorize(toLiveRequest(request));
      let answer = isAnswer(subscription) ? subscription : undefined;
      if (!isAnswer(subscription))
        try {
          await streams.follow(subscription, toSseConnection(response));
        } catch (error) {
          onError(error);
          if (response.headersSent) return void response.destroy();
          answer = liveUnavailable();
        }
      if (answer) response.writeHead(answer.status, answer.headers).end(answer.body);
    },

    async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
      // Before the upgrade, an error without a listener would crash the process.
      socket.on("error", () => {});
      const subscription = await streams.authorize(toLiveRequest(request));
      if (isAnswer(subscription)) {
        const { status, headers, body } = subscription;
        const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
        socket.end(
          `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
        );
        return;
      }
      socketServer.handleUpgrade(request, socket, head, (client) => {
        const connection = toSocketConnection(client);
        const isAllowed = limitFrames(client, socket);
        // A client that does not read gets no pongs, which would accumulate in memory.
        client.on("message", (data) => {
          if (isAllowed() && String(data) === "ping" && !connection.isFull())
            client.send(`{"pong":${Date.now()}}`);
        });
        client.on("ping", (data) => {
          if (isAllowed() && !connection.isFull()) client.pong(data);
        });
        client.on("pong", isAllowed);
        // Invalid frames are the client's error; the close code reports it.
        client.on("error", () => {});
        streams.follow(subscription, connection).catch((error: unknown) => {
          onError(error);
          client.close(INTERNAL_ERROR);
        });
      });
    },
  };
}

/**
 * Disconnects a client that exceeds the limits. Returns a function that counts one frame, and returns
 * whether the frame may be handled. Bytes are limited too, since the fragments of a message cause no
 * event and are not counted as frames.
 */
function limitFrames(client: WebSocket, socket: Duplex): () => boolean {
  const { takeFrame, takeBytes } = limitSocket(
    () => performance.now(),
    (code, reason) => {
      client.close(code, reason);
      // Otherwise everything that the client still sends would be parsed until it closes the connection.
      client.pause();
      socket.end(() => socket.destroy());
    },
  );
  socket.on("data", (chunk: Buffer) => takeBytes(chunk.byteLength));
  return takeFrame;
}

/** Waits for the earlier responses of a pipelined connection. Until they are sent, events would be buffered. */
const waitForSocket = (response: ServerResponse) =>
  new Promise<unknown>((resolve) => {
    response.once("socket", resolve);
    response.once("close", resolve);
  });

/** The WebSocket close code for an internal error. */
const INTERNAL_ERROR = 1011;

type Encode = (text: string) => string | Buffer;

const MAX_BUFFERED_BYTES = 64 * 1024;

function toSocketConnection(client: WebSocket): LiveConnection {
  const drainListeners: (() => void)[] = [];
  return {
    encoder: socketEncoder,
    send: (text) =>
      client.send(text, () => {
        if (client.bufferedAmount < MAX_BUFFERED_BYTES)
          for (const onDrain of drainListeners) onDrain();
      }),
    isFull: () => client.bufferedAmount >= MAX_BUFFERED_BYTES || client.readyState !== client.OPEN,
    onDrain: (listener) => void drainListeners.push(listener),
    onClose: (listener) => void client.on("close", listener),
    close(code, reason) {
      if (client.readyState === client.OPEN) client.close(code, reason);
      else client.terminate();
    },
  };
}

const toLiveRequest = ({ method = "", url = "", headers }: IncomingMessage): LiveRequest => ({
  method,
  url,
  header(name) {
    const value = headers[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  },
});

/**
 * Sends Server-Sent Events over HTTP/1.1. `response.write` would split each chunk into three writes, for
 * every client. Here, a text is encoded as a chunk once, and the chunk is written to the sockets of all
 * clients.
 */
function createSseConnections(): (response: ServerResponse) => LiveConnection {
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
