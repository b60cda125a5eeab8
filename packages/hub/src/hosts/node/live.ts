/**
 * `GET /events` on Node: Server-Sent Events, or a WebSocket when asked to upgrade. Written straight
 * to the socket. Every client is looked after by one timer: heartbeats, tokens that are no longer
 * good, and readers that have stopped reading.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { AuthorizeRequest } from "../../api/authorize-request.ts";
import { decodeCursor } from "../../inbox/cursor.ts";
import { PROBLEM_TYPE, problem } from "../../lib/problem.ts";
import type { Store } from "../../store/store.ts";
import type { Feed, Follower } from "../../stream/feed.ts";
import { logIdOf, socketWire, type Wire } from "../../stream/wire.ts";
import { type Authorizer, Denied } from "../../tenants/authorizer.ts";
import { createSseConnections } from "./sse-connection.ts";

export interface LiveOptions {
  store: Pick<Store, "getLogId">;
  feed: Feed;
  authorizeRequest: AuthorizeRequest;
  authorizer: Pick<Authorizer, "watch">;
  onError: (error: unknown) => void;
  heartbeatMs?: number;
  /** How often connections are checked for clients that stopped reading. */
  stallCheckMs?: number;
  /** How long a client may leave a full connection unread. */
  stallMs?: number;
}

interface Client {
  fullSince: number | undefined;
  beat(): void;
  end: Connection["end"];
}

/** What SSE and WebSocket have in common. */
export interface Connection {
  wire: Wire;
  send(text: string): void;
  isFull(): boolean;
  onDrain(room: () => void): void;
  onEnd(end: () => void): void;
  /** Says goodbye; called again, it hangs up on a client that did not read it. */
  end(code: number, reason: string): void;
}

const UNAUTHORIZED = 4401;
const TOO_SLOW = 4408;
const GOING_AWAY = 1001;

class Refused extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Record<string, string>;
  constructor(status: number, code: string, detail: string, headers: Record<string, string> = {}) {
    super(detail);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

export function createLive({
  store,
  feed,
  authorizeRequest,
  authorizer,
  onError,
  heartbeatMs = 30_000,
  stallCheckMs = 2_000,
  stallMs = 30_000,
}: LiveOptions) {
  const clients = new Set<Client>();
  const toSse = createSseConnections();
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 64 * 1024, autoPong: false });

  const beat = setInterval(() => {
    for (const client of clients) client.beat();
  }, heartbeatMs);
  const stallCheck = setInterval(() => {
    for (const client of clients)
      if (client.fullSince !== undefined && Date.now() - client.fullSince > stallMs)
        client.end(TOO_SLOW, "too slow; resume after your cursor");
  }, stallCheckMs);
  beat.unref();
  stallCheck.unref();

  async function admit(request: IncomingMessage) {
    if (request.method !== "GET")
      throw new Refused(405, "method_not_allowed", "Only GET is known here.", { allow: "GET" });
    const url = new URL(request.url ?? "", `http://${request.headers.host || "hub"}`);
    const access = await authorizeRequest(
      { url: url.href, headers: { get: (name) => header(request, name) ?? null } },
      { scope: "inbox:read" },
    );
    if (access instanceof Denied)
      throw new Refused(access.status, access.code, access.detail, { ...access.headers });
    const given = url.searchParams.get("after") ?? header(request, "last-event-id");
    const logId = await store.getLogId();
    const after =
      given === undefined ? new Map<string, number>() : decodeCursor(given, access.tenants, logId);
    if (!after)
      throw new Refused(400, "invalid_cursor", "after: is not a cursor that this hub gave out.");
    // An empty one says nothing.
    const wanted = (name: string) => url.searchParams.get(name) || undefined;
    const filter = { type: wanted("type"), repo: wanted("repo"), source: wanted("source") };
    return { access, log: await logIdOf(logId, access.tenants), after, filter };
  }

  async function start(
    admitted: Awaited<ReturnType<typeof admit>>,
    connection: Connection,
  ): Promise<void> {
    const { access, log, after, filter } = admitted;
    const { tenants } = access;
    const { wire, send } = connection;
    let follower: Follower | undefined;
    let ended = false;
    const client: Client = {
      fullSince: undefined,
      beat() {
        if (follower && !connection.isFull())
          send(wire.heartbeat(Date.now(), follower.cursor, tenants));
      },
      end: connection.end,
    };
    clients.add(client);
    const stopWatching = authorizer.watch(access, () =>
      connection.end(UNAUTHORIZED, "the token is no longer valid"),
    );
    connection.onEnd(() => {
      ended = true;
      clients.delete(client);
      stopWatching();
      follower?.stop();
    });
    connection.onDrain(() => {
      client.fullSince = undefined;
      follower?.resume();
    });
    follower = await feed.follow({
      tenants,
      after,
      filter,
      sink: {
        start: (cursor) => send(wire.connected(log, cursor, tenants)),
        event: (event, cursor) => send(wire.event(event, cursor, tenants)),
        truncated: (whose, why) => send(wire.truncated(whose, why)),
        isFull() {
          if (!connection.isFull()) return false;
          client.fullSince ??= Date.now();
          return true;
        },
      },
    });
    if (ended) follower.stop();
  }

  function refusalOf(error: unknown) {
    if (!(error instanceof Refused)) onError(error);
    const { status, code, message, headers } =
      error instanceof Refused
        ? error
        : new Refused(503, "storage_unavailable", "Try again later.");
    return {
      status,
      headers: { "content-type": PROBLEM_TYPE, ...headers },
      body: JSON.stringify(problem(status, code, "Refused", message)),
    };
  }

  return {
    async sse(request: IncomingMessage, response: ServerResponse): Promise<void> {
      try {
        if (!response.socket) await itsTurn(response);
        if (response.destroyed) return;
        await start(await admit(request), toSse(response));
      } catch (error) {
        const { status, headers, body } = refusalOf(error);
        if (response.headersSent) return void response.destroy();
        response.writeHead(status, headers).end(body);
      }
    },

    async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
      // Until the WebSocket has it, nobody else hears that the client hung up.
      socket.on("error", () => {});
      try {
        const admitted = await admit(request);
        sockets.handleUpgrade(request, socket, head, (client) => {
          const connection = socketConnection(client);
          // Who asks and does not read gets no answers: they would pile up here.
          client.on("message", (data) => {
            if (String(data) === "ping" && !connection.isFull())
              client.send(`{"pong":${Date.now()}}`);
          });
          client.on("ping", (data) => {
            if (!connection.isFull()) client.pong(data);
          });
          // Frames that are none: the close code says so to the client, whose fault it is.
          client.on("error", () => {});
          start(admitted, connection).catch((error: unknown) => {
            onError(error);
            client.close(1011);
          });
        });
      } catch (error) {
        const { status, headers, body } = refusalOf(error);
        const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
        socket.end(
          `HTTP/1.1 ${status} Refused\r\n${lines.join("")}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
        );
      }
    },

    /** Sends everybody away; they resume after their cursors elsewhere. */
    close(): void {
      clearInterval(beat);
      clearInterval(stallCheck);
      for (const client of clients)
        client.end(GOING_AWAY, "the hub is stopping; resume after your cursor");
    },
  };
}

/** Behind another answer on its connection it would hold all that there is to tell until then. */
const itsTurn = (response: ServerResponse) =>
  new Promise<unknown>((resolve) => {
    response.once("socket", resolve);
    response.once("close", resolve);
  });

const SOCKET_BUFFER = 64 * 1024;

function socketConnection(client: WebSocket): Connection {
  const rooms: (() => void)[] = [];
  return {
    wire: socketWire,
    send: (text) =>
      client.send(text, () => {
        if (client.bufferedAmount < SOCKET_BUFFER) for (const room of rooms) room();
      }),
    isFull: () => client.bufferedAmount >= SOCKET_BUFFER || client.readyState !== client.OPEN,
    onDrain: (room) => void rooms.push(room),
    onEnd: (end) => void client.on("close", end),
    end(code, reason) {
      if (client.readyState === client.OPEN) client.close(code, reason);
      else client.terminate();
    },
  };
}

const header = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headers[name];
  return typeof value === "string" && value !== "" ? value : undefined;
};
