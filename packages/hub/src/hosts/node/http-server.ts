/**
 * HTTP on Node: listening, hanging up, and what is wrong with a request before anybody looks where
 * it goes. Whatever the fault, the sender gets a problem document and the operator a count.
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
import { incompleteBody } from "../../ingest/incoming-request.ts";
import { type Rejection, rejection, toAnswer } from "../../ingest/ingest-outcome.ts";
import { SettingsError } from "../settings.ts";
import { BODY_ABORTED } from "./read-body.ts";
import { LINGER_BYTES, sendAnswer } from "./send-answer.ts";

export interface HttpServerOptions {
  host: string;
  port: number;
  /** How long one request may take to arrive. */
  requestTimeoutMs: number;
  /** How long somebody who was refused too early to be heard out has to read why. */
  lingerMs: number;
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Other requests that offer an upgrade are answered as if they did not. */
  isUpgradable(request: IncomingMessage): boolean;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Told of what is refused here, and so never gets to `handle`. */
  onRejected(rejected: Rejection, address: string): void;
}

export interface HttpServer {
  url: string;
  /** Stops listening, and waits that long for requests that are under way. */
  close(timeoutMs: number): Promise<void>;
}

export async function openHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { requestTimeoutMs, lingerMs, handle, isUpgradable, upgrade, onRejected } = options;
  const exchanges = new WeakMap<Duplex, { request: IncomingMessage; response: ServerResponse }>();
  /** Sockets that were answered without a response, and what they had sent until then. */
  const dismissed = new WeakMap<Duplex, number>();

  const begin = (request: IncomingMessage, response: ServerResponse) => {
    exchanges.set(request.socket, { request, response });
    if (!response.socket) waitForTurn(request.socket, response);
    if (!server.listening) response.shouldKeepAlive = false;
    const rejected = checkHost(request) ?? checkTarget(request);
    if (rejected) turnDown(request, response, rejected);
    else handle(request, response);
  };

  /** Answers that wait for an earlier one on their connection. */
  const waiting = new WeakMap<Socket, Set<ServerResponse>>();
  const waitForTurn = (socket: Socket, response: ServerResponse) => {
    const known = waiting.get(socket);
    const responses = known ?? new Set();
    response.once("close", () => responses.delete(response));
    responses.add(response);
    if (known) return;
    waiting.set(socket, responses);
    // Not every Node that we run on tells them that their connection is gone.
    socket.once("close", () =>
      setImmediate(() => {
        for (const left of responses) {
          left.destroy();
          left.emit("close");
        }
      }),
    );
  };

  const turnDown = (request: IncomingMessage, response: ServerResponse, rejected: Rejection) => {
    onRejected(rejected, request.socket.remoteAddress ?? "");
    sendAnswer(request, response, toAnswer(rejected), { lingerMs, close: true });
  };

  const dismiss = (socket: Socket, rejected: Rejection) => {
    onRejected(rejected, socket.remoteAddress ?? "");
    // Node has let go of a socket that wanted a tunnel: one that resets would end the process.
    socket.on("error", () => socket.destroy());
    dismissed.set(socket, socket.bytesRead);
    const { status, headers, body } = toAnswer(rejected);
    const lines = Object.entries({
      ...headers,
      "content-length": Buffer.byteLength(body),
      connection: "close",
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`);
    hangUpSoon(socket);
  };

  const hangUpSoon = (socket: Socket) => {
    const timer = setTimeout(() => socket.destroy(), lingerMs);
    socket.once("close", () => clearTimeout(timer));
  };

  const onClientError = (error: NodeJS.ErrnoException, stream: Duplex) => {
    const socket = stream as Socket;
    const before = dismissed.get(socket);
    if (before !== undefined) {
      // The parser goes on to complain about whatever still comes.
      if (isEnd(error) || socket.bytesRead - before > LINGER_BYTES) socket.destroy();
      return;
    }
    const rejected = rejectionOf(error);
    if (!rejected || !socket.writable) return void socket.destroy();
    const { request, response } = exchanges.get(socket) ?? {};
    if (!request || !response || response.writableFinished) return dismiss(socket, rejected);
    if (response.headersSent) return isEnd(error) ? void socket.destroy() : hangUpSoon(socket);
    if (request.complete) {
      // What is wrong came behind a good request, which still gets its answer.
      onRejected(rejected, socket.remoteAddress ?? "");
      response.shouldKeepAlive = false;
    } else {
      const reason = isEnd(error) ? incompleteBody() : rejected;
      if (!request.emit(BODY_ABORTED, reason)) dismiss(socket, reason);
    }
  };

  const server = createServer({
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(1000, requestTimeoutMs),
    requireHostHeader: false, // Node sends a 400 without a body
    shouldUpgradeCallback: (request) =>
      isWebSocket(request) && !checkTarget(request) && isUpgradable(request),
  })
    .on("request", begin)
    .on("checkContinue", begin)
    .on("checkExpectation", (request: IncomingMessage, response: ServerResponse) =>
      turnDown(
        request,
        response,
        rejection("expectation_failed", "The only expectation that can be met is 100-continue."),
      ),
    )
    .on("connect", (_, socket) =>
      dismiss(
        socket as Socket,
        rejection("invalid_http", "This is no proxy: CONNECT leads nowhere."),
      ),
    )
    .on("upgrade", (request, socket, head) => {
      const rejected = checkHost(request) ?? checkTarget(request);
      if (rejected) dismiss(socket as Socket, rejected);
      else if (isWebSocket(request) && isUpgradable(request)) upgrade(request, socket, head);
      // Only on a Node that does not ask first whether to upgrade.
      else dismiss(socket as Socket, rejection("invalid_http", "This cannot be upgraded."));
    })
    .on("clientError", onClientError);

  await listen(server, options);
  return { url: addressOf(server), close: (timeoutMs) => close(server, timeoutMs) };
}

const isWebSocket = ({ headers }: IncomingMessage): boolean =>
  headers.upgrade?.toLowerCase() === "websocket";

const isEnd = ({ code }: NodeJS.ErrnoException): boolean => code === "HPE_INVALID_EOF_STATE";

/** Undefined where the connection broke, and nobody is left to refuse. */
function rejectionOf({ code = "" }: NodeJS.ErrnoException): Rejection | undefined {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return rejection("request_timeout", "The request took too long to arrive.");
  if (code === "HPE_HEADER_OVERFLOW")
    return rejection("headers_too_large", "The headers are larger than 16 KiB.");
  if (code.startsWith("HPE_"))
    return rejection("invalid_http", "This is not a valid HTTP request.");
  return undefined;
}

function checkHost({ rawHeaders, httpVersion }: IncomingMessage): Rejection | undefined {
  let host: string | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length !== 4 || name.toLowerCase() !== "host") continue;
    if (host !== undefined) return rejection("invalid_http", "The header Host is given twice.");
    host = rawHeaders[at + 1] as string;
  }
  if (host === undefined)
    return httpVersion === "1.0"
      ? undefined
      : rejection("invalid_http", "The header Host is missing; HTTP/1.1 needs it.");
  return /[\s/\\?#@,]/.test(host)
    ? rejection("invalid_http", "The header Host is not the name of a host.")
    : undefined;
}

/** Clients that take us for a proxy send the whole URL; only its path is of interest. */
function checkTarget(request: IncomingMessage): Rejection | undefined {
  const { url = "" } = request;
  if (url.startsWith("/")) return undefined;
  const rest = /^https?:\/\/[^/?#]+(.*)$/i.exec(url)?.[1];
  if (rest === undefined)
    return rejection("invalid_http", "The request's target must be a path, or an http(s) URL.");
  request.url = rest.startsWith("/") ? rest : `/${rest}`;
  return undefined;
}

function listen(
  server: Server,
  { host, port }: Pick<HttpServerOptions, "host" | "port">,
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const fix: Record<string, string> = {
        EADDRINUSE: `Port ${port} on ${host} is taken. Stop what runs there, or choose another with --port.`,
        EACCES: `Port ${port} needs more rights. Choose one above 1023 with --port.`,
        EADDRNOTAVAIL: `${host} is not an address of this machine. Choose another with --host.`,
        ENOTFOUND: `${host} is not an address of this machine. Choose another with --host.`,
      };
      reject(new SettingsError(fix[error.code ?? ""] ?? error.message, { cause: error }));
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
    const late = setTimeout(() => server.closeAllConnections(), timeoutMs);
    // Also those that fall idle meanwhile: they would be kept for the client's next request.
    const idle = setInterval(() => server.closeIdleConnections(), 50);
    server.close(() => {
      clearTimeout(late);
      clearInterval(idle);
      resolve();
    });
    server.closeIdleConnections();
  });
}
