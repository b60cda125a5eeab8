/**
 * `GET /events` on Node: Server-Sent Events, or a WebSocket if the client asks for an upgrade. Both
 * write to the socket without a Web stream in between.
 */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import {
  isAnswer,
  type LiveConnection,
  type LiveRequest,
  type LiveStreams,
  liveUnavailable,
} from "../../api/live-streams.ts";
import { limitSocket } from "../../lib/limit-socket.ts";
import { SOCKET_LIMITS } from "../../lib/limits.ts";
import { socketEncoder } from "../../stream/message-encoder.ts";
import { createSseConnections } from "./sse-connection.ts";

export interface LiveTransportOptions {
  streams: LiveStreams;
  onError: (error: unknown) => void;
}

export function createLiveTransport({ streams, onError }: LiveTransportOptions) {
  const toSse = createSseConnections();
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: SOCKET_LIMITS.messageBytes,
    autoPong: false,
  });

  return {
    async sse(request: IncomingMessage, response: ServerResponse): Promise<void> {
      if (!response.socket) await firstInPipeline(response);
      if (response.destroyed) return;
      const subscription = await streams.authorize(liveRequest(request));
      let answer = isAnswer(subscription) ? subscription : undefined;
      if (!isAnswer(subscription))
        try {
          await streams.follow(subscription, toSse(response));
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
      const subscription = await streams.authorize(liveRequest(request));
      if (isAnswer(subscription)) {
        const { status, headers, body } = subscription;
        const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
        socket.end(
          `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
        );
        return;
      }
      sockets.handleUpgrade(request, socket, head, (client) => {
        const connection = socketConnection(client);
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
          client.close(1011);
        });
      });
    },
  };
}

/**
 * Disconnects a client that sends more than the limits. Returns a function that counts one frame, and
 * whether it may be handled. Bytes are limited too: no event reports the fragments of a message.
 */
function limitFrames(client: WebSocket, socket: Duplex): () => boolean {
  const { takeFrame, takeBytes } = limitSocket(
    () => performance.now(),
    (code, reason) => {
      client.close(code, reason);
      // Otherwise everything that the client still sends would be parsed until it closes in turn.
      client.pause();
      socket.end(() => socket.destroy());
    },
  );
  socket.on("data", (chunk: Buffer) => takeBytes(chunk.byteLength));
  return takeFrame;
}

/** Waits for the earlier responses of a pipelined connection: events would be buffered until then. */
const firstInPipeline = (response: ServerResponse) =>
  new Promise<unknown>((resolve) => {
    response.once("socket", resolve);
    response.once("close", resolve);
  });

const SOCKET_BUFFER = 64 * 1024;

function socketConnection(client: WebSocket): LiveConnection {
  const drainListeners: (() => void)[] = [];
  return {
    encoder: socketEncoder,
    send: (text) =>
      client.send(text, () => {
        if (client.bufferedAmount < SOCKET_BUFFER) for (const drained of drainListeners) drained();
      }),
    isFull: () => client.bufferedAmount >= SOCKET_BUFFER || client.readyState !== client.OPEN,
    onDrain: (listener) => void drainListeners.push(listener),
    onClose: (listener) => void client.on("close", listener),
    close(code, reason) {
      if (client.readyState === client.OPEN) client.close(code, reason);
      else client.terminate();
    },
  };
}

const liveRequest = ({ method = "", url = "", headers }: IncomingMessage): LiveRequest => ({
  method,
  url,
  header(name) {
    const value = headers[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  },
});
