/**
 * The HTTP server of the Node host: listens, closes connections, and rejects invalid requests before
 * they are routed. A rejected client gets a problem document, and `onRejected` is called.
 */

import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { incompleteBody } from "../../events/admit/receive-request.ts";
import {
  type Answer,
  type Rejection,
  rejection,
  toAnswer,
} from "../../kernel/http/ingest-outcome.ts";
import { SettingsError } from "../../kernel/settings.ts";

/** Emitted on a request whose body will not be complete, with the rejection to send. */
export const BODY_ABORTED = "bodyAborted";

export interface HttpServerOptions {
  host: string;
  port: number;
  /** How long a client may take to send one request. */
  requestTimeoutMs: number;
  /** How long a client that is still sending may read its rejection before the connection closes. */
  lingerMs: number;
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Whether the request may be upgraded. For other requests, the `Upgrade` header has no effect. */
  isUpgradable(request: IncomingMessage): boolean;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Called for requests that are rejected here and never reach `handle`. */
  onRejected(rejected: Rejection, address: string): void;
}

export interface HttpServer {
  url: string;
  /** Stops listening, and waits up to `timeoutMs` for open requests. */
  close(timeoutMs: number): Promise<void>;
}

export async function openHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { requestTimeoutMs, lingerMs, handle, isUpgradable, upgrade, onRejected } = options;
  const exchanges = new WeakMap<Duplex, { request: IncomingMessage; response: ServerResponse }>();
  /** Sockets that got a rejection without a response object, with their `bytesRead` at that time. */
  const rejectedSockets = new WeakMap<Duplex, number>();

  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    exchanges.set(request.socket, { request, response });
    if (!response.socket) trackPipelined(request.socket, response);
    if (!server.listening) response.shouldKeepAlive = false;
    const rejected = checkHost(request) ?? checkTarget(request);
    if (rejected) rejectRequest(request, response, rejected);
    else handle(request, response);
  };

  /** Pipelined responses, which wait for an earlier response of their connection. */
  const pipelined = new WeakMap<Socket, Set<ServerResponse>>();
  const trackPipelined = (socket: Socket, response: ServerResponse) => {
    const existing = pipelined.get(socket);
    const responses = existing ?? new Set();
    response.once("close", () => responses.delete(response));
    responses.add(response);
    if (existing) return;
    pipelined.set(socket, responses);
    // Some supported Node versions do not emit `close` on these responses when the connection closes.
    socket.once("close", () =>
      setImmediate(() => {
        for (const response of responses) {
          response.destroy();
          response.emit("close");
        }
      }),
    );
  };

  const rejectRequest = (
    request: IncomingMessage,
    response: ServerResponse,
    rejected: Rejection,
  ) => {
    onRejected(rejected, request.socket.remoteAddress ?? "");
    sendAnswer(request, response, toAnswer(rejected), { lingerMs, close: true });
  };

  const rejectSocket = (socket: Socket, rejected: Rejection) => {
    onRejected(rejected, socket.remoteAddress ?? "");
    // After CONNECT or an upgrade, Node has no error listener: a reset would crash the process.
    socket.on("error", () => socket.destroy());
    rejectedSockets.set(socket, socket.bytesRead);
    const { status, headers, body } = toAnswer(rejected);
    const lines = Object.entries({
      ...headers,
      "content-length": Buffer.byteLength(body),
      connection: "close",
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`);
    closeAfterLinger(socket);
  };

  const closeAfterLinger = (socket: Socket) => {
    const timer = setTimeout(() => socket.destroy(), lingerMs);
    socket.once("close", () => clearTimeout(timer));
  };

  const onClientError = (error: NodeJS.ErrnoException, stream: Duplex) => {
    const socket = stream as Socket;
    const bytesReadBefore = rejectedSockets.get(socket);
    if (bytesReadBefore !== undefined) {
      // The parser reports further errors while the client keeps sending.
      if (isUnexpectedEnd(error) || socket.bytesRead - bytesReadBefore > LINGER_BYTES)
        socket.destroy();
      return;
    }
    const rejected = rejectionOf(error);
    if (!rejected || !socket.writable) return void socket.destroy();
    const { request, response } = exchanges.get(socket) ?? {};
    if (!request || !response || response.writableFinished) return rejectSocket(socket, rejected);
    if (response.headersSent)
      return isUnexpectedEnd(error) ? void socket.destroy() : closeAfterLinger(socket);
    if (request.complete) {
      // The invalid bytes follow a complete request, which still gets its response.
      onRejected(rejected, socket.remoteAddress ?? "");
      response.shouldKeepAlive = false;
    } else {
      const reason = isUnexpectedEnd(error) ? incompleteBody() : rejected;
      if (!request.emit(BODY_ABORTED, reason)) rejectSocket(socket, reason);
    }
  };

  const server = createServer({
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, requestTimeoutMs),
    requireHostHeader: false, // with true, Node itself sends a 400 without a body
    shouldUpgradeCallback: (request) =>
      isWebSocket(request) && !checkTarget(request) && isUpgradable(request),
  })
    .on("request", onRequest)
    .on("checkContinue", onRequest)
    .on("checkExpectation", (request: IncomingMessage, response: ServerResponse) =>
      rejectRequest(
        request,
        response,
        rejection("expectation_failed", "The only supported expectation is 100-continue."),
      ),
    )
    .on("connect", (_, socket) =>
      rejectSocket(
        socket as Socket,
        rejection("invalid_http", "CONNECT is not supported: the hub is not a proxy."),
      ),
    )
    .on("upgrade", (request, socket, head) => {
      const rejected = checkHost(request) ?? checkTarget(request);
      if (rejected) rejectSocket(socket as Socket, rejected);
      else if (isWebSocket(request) && isUpgradable(request)) upgrade(request, socket, head);
      // Reached only on Node versions without `shouldUpgradeCallback`.
      else
        rejectSocket(
          socket as Socket,
          rejection("invalid_http", "This path does not support an upgrade."),
        );
    })
    .on("clientError", onClientError);

  await listen(server, options);
  return { url: addressOf(server), close: (timeoutMs) => close(server, timeoutMs) };
}

const isWebSocket = ({ headers }: IncomingMessage): boolean =>
  headers.upgrade?.toLowerCase() === "websocket";

const isUnexpectedEnd = ({ code }: NodeJS.ErrnoException): boolean =>
  code === "HPE_INVALID_EOF_STATE";

/** Returns undefined if the connection is broken, so that no response can be sent. */
function rejectionOf({ code = "" }: NodeJS.ErrnoException): Rejection | undefined {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return rejection("request_timeout", "The request did not arrive within the time limit.");
  if (code === "HPE_HEADER_OVERFLOW")
    return rejection("headers_too_large", "The headers exceed the limit of 16 KiB.");
  if (code.startsWith("HPE_")) return rejection("invalid_http", "The request is not valid HTTP.");
  return undefined;
}

function checkHost({ rawHeaders, httpVersion }: IncomingMessage): Rejection | undefined {
  let host: string | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length !== 4 || name.toLowerCase() !== "host") continue;
    if (host !== undefined)
      return rejection("invalid_http", "The request has two Host headers; send one.");
    host = rawHeaders[at + 1] as string;
  }
  if (host === undefined)
    return httpVersion === "1.0"
      ? undefined
      : rejection("invalid_http", "The Host header is missing; HTTP/1.1 requires it.");
  return /[\s/\\?#@,]/.test(host)
    ? rejection("invalid_http", "The Host header is not a host name.")
    : undefined;
}

/**
 * A client that is configured to use a proxy sends the request target as an absolute URL. `request.url`
 * is then replaced by its path and query.
 */
function checkTarget(request: IncomingMessage): Rejection | undefined {
  const { url = "" } = request;
  if (url.startsWith("/")) return undefined;
  const pathAndQuery = /^https?:\/\/[^/?#]+(.*)$/i.exec(url)?.[1];
  if (pathAndQuery === undefined)
    return rejection("invalid_http", "The request target must be a path, or an http(s) URL.");
  request.url = pathAndQuery.startsWith("/") ? pathAndQuery : `/${pathAndQuery}`;
  return undefined;
}

function listen(
  server: Server,
  { host, port }: Pick<HttpServerOptions, "host" | "port">,
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const messages: Record<string, string> = {
        EADDRINUSE: `Port ${port} on ${host} is in use. Stop the program that uses it, or choose another port with --port.`,
        EACCES: `Port ${port} needs more privileges. Choose a port above 1023 with --port.`,
        EADDRNOTAVAIL: `${host} is not an address of this machine. Choose another address with --host.`,
        ENOTFOUND: `${host} is not an address of this machine. Choose another address with --host.`,
      };
      reject(new SettingsError(messages[error.code ?? ""] ?? error.message, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
}

function addressOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

function close(server: Server, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timeout = setTimeout(() => server.closeAllConnections(), timeoutMs);
    // Connections become idle at different times, and stay open for the client's next request.
    const closeIdle = setInterval(() => server.closeIdleConnections(), 50);
    server.close(() => {
      clearTimeout(timeout);
      clearInterval(closeIdle);
      resolve();
    });
    server.closeIdleConnections();
  });
}

/** How many bytes of a rejected body are still read, so that the client can read the response. */
const LINGER_BYTES = 1024 * 1024;

interface SendOptions {
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
