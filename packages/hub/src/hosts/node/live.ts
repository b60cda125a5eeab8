/**
 * `GET /events` on Node: Server-Sent Events, or a WebSocket when asked to upgrade. Written straight
 * to the socket. Every client is looked after by one timer: heartbeats, tokens that are no longer
 * good, and readers that have stopped reading.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { decodeCursor } from "../../inbox/cursor.ts";
import { PROBLEM_TYPE, problem } from "../../lib/problem.ts";
import type { Feed, Follower } from "../../stream/feed.ts";
import { socketWire, sseWire, type Wire } from "../../stream/wire.ts";
import { type Accesses, allows, deniedWords } from "../../tenants/access.ts";

export interface LiveOptions {
  feed: Feed;
  accesses: Accesses;
  isOurHost: (host: string) => boolean;
  onError: (error: unknown) => void;
  heartbeatMs?: number;
  /** How often tokens are looked at again. */
  recheckMs?: number;
  /** How long a client may leave a full connection unread. */
  stallMs?: number;
}

interface Client {
  authorization: string | undefined;
  tenant: string | undefined;
  fullSince: number | undefined;
  send(text: string): void;
  wire: Wire;
  end(code: number, reason: string): void;
}

const UNAUTHORIZED = 4401;
const TOO_SLOW = 4408;
const GOING_AWAY = 1001;

class Refused extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, detail: string) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

export function createLive({
  feed,
  accesses,
  isOurHost,
  onError,
  heartbeatMs = 30_000,
  recheckMs = 2_000,
  stallMs = 30_000,
}: LiveOptions) {
  const clients = new Set<Client>();
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 64 * 1024 });

  const beat = setInterval(() => {
    for (const client of clients)
      if (client.fullSince === undefined) client.send(client.wire.heartbeat(Date.now()));
  }, heartbeatMs);
  const recheck = setInterval(async () => {
    for (const client of clients) {
      if (client.fullSince !== undefined && Date.now() - client.fullSince > stallMs)
        client.end(TOO_SLOW, "too slow; resume after your cursor");
      try {
        const access = await accesses.check(client.authorization, client.tenant);
        if (typeof access === "string" || access.tenants.length === 0)
          client.end(UNAUTHORIZED, "the token is no longer good");
      } catch (error) {
        onError(error); // an outage is no reason to send everybody away
      }
    }
  }, recheckMs);
  beat.unref();
  recheck.unref();

  async function admit(request: IncomingMessage) {
    const { authorization, host = "", origin } = request.headers;
    if (!isOurHost(host))
      throw new Refused(421, "wrong_host", "This hub is not known under that name.");
    if (origin !== undefined && !(URL.canParse(origin) && isOurHost(new URL(origin).host)))
      throw new Refused(403, "foreign_origin", "Requests from pages of other sites are refused.");
    const url = new URL(request.url ?? "", "http://hub");
    const tenant = url.searchParams.get("tenant") ?? undefined;
    const access = await accesses.check(authorization, tenant);
    if (typeof access === "string") throw new Refused(401, `token_${access}`, deniedWords[access]);
    if (access.tenants.length === 0)
      throw new Refused(
        403,
        "no_tenant",
        "Say whose events you mean with ?tenant=…, one that the token opens.",
      );
    if (!allows(access, "inbox:read"))
      throw new Refused(403, "insufficient_scope", "The token lacks the scope inbox:read.");
    const given = url.searchParams.get("after") ?? header(request, "last-event-id");
    const after =
      given === undefined ? new Map<string, number>() : decodeCursor(given, access.tenants);
    if (!after)
      throw new Refused(400, "invalid_cursor", "after: is not a cursor that this hub gave out.");
    const filter = {
      type: url.searchParams.get("type") ?? undefined,
      repo: url.searchParams.get("repo") ?? undefined,
      source: url.searchParams.get("source") ?? undefined,
    };
    return { access, tenant, after, filter };
  }

  async function start(
    request: IncomingMessage,
    admitted: Awaited<ReturnType<typeof admit>>,
    connection: Pick<Client, "send" | "wire" | "end"> & {
      isFull(): boolean;
      onRoom(room: () => void): void;
      onEnd(end: () => void): void;
    },
  ): Promise<void> {
    const { access, tenant, after, filter } = admitted;
    const client: Client = {
      ...connection,
      authorization: request.headers.authorization,
      tenant,
      fullSince: undefined,
    };
    let follower: Follower | undefined;
    let ended = false;
    clients.add(client);
    connection.onEnd(() => {
      ended = true;
      clients.delete(client);
      follower?.stop();
    });
    connection.onRoom(() => {
      client.fullSince = undefined;
      follower?.resume();
    });
    client.send(client.wire.connected());
    follower = await feed.follow({
      tenants: access.tenants,
      after,
      filter,
      sink: {
        event: (event, cursor) => client.send(client.wire.event(event, cursor, access.tenants)),
        truncated: (whose) => client.send(client.wire.truncated(whose)),
        isFull() {
          if (!connection.isFull()) return false;
          client.fullSince ??= Date.now();
          return true;
        },
      },
    });
    if (ended) follower.stop();
  }

  function refusalOf(error: unknown): { status: number; body: string } {
    if (!(error instanceof Refused)) onError(error);
    const { status, code, message } =
      error instanceof Refused
        ? error
        : new Refused(503, "storage_unavailable", "Try again later.");
    return { status, body: JSON.stringify(problem(status, code, "Refused", message)) };
  }

  return {
    async sse(request: IncomingMessage, response: ServerResponse): Promise<void> {
      try {
        const admitted = await admit(request);
        response.writeHead(200, {
          "content-type": "text/event-stream",
          "cache-control": "no-store",
          "x-accel-buffering": "no",
        });
        await start(request, admitted, {
          wire: sseWire,
          send: (text) => void response.write(text),
          isFull: () => response.writableNeedDrain || response.destroyed,
          onRoom: (room) => response.on("drain", room),
          onEnd: (end) => response.on("close", end),
          end: (code, reason) =>
            response.end(`event: closed\ndata: ${JSON.stringify({ code, reason })}\n\n`),
        });
      } catch (error) {
        const { status, body } = refusalOf(error);
        if (response.headersSent) return void response.destroy();
        response.writeHead(status, { "content-type": PROBLEM_TYPE }).end(body);
      }
    },

    async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
      try {
        const admitted = await admit(request);
        sockets.handleUpgrade(request, socket, head, (client) => {
          client.on("message", (data) => {
            if (String(data) === "ping") client.send(`{"pong":${Date.now()}}`);
          });
          client.on("error", onError);
          start(request, admitted, socketConnection(client)).catch((error: unknown) => {
            onError(error);
            client.close(1011);
          });
        });
      } catch (error) {
        const { status, body } = refusalOf(error);
        socket.end(
          `HTTP/1.1 ${status} Refused\r\ncontent-type: ${PROBLEM_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
        );
      }
    },

    /** Sends everybody away; they resume after their cursors elsewhere. */
    close(): void {
      clearInterval(beat);
      clearInterval(recheck);
      for (const client of clients)
        client.end(GOING_AWAY, "the hub is stopping; resume after your cursor");
    },
  };
}

const SOCKET_BUFFER = 64 * 1024;

function socketConnection(client: WebSocket) {
  const rooms: (() => void)[] = [];
  return {
    wire: socketWire,
    send: (text: string) =>
      client.send(text, () => {
        if (client.bufferedAmount < SOCKET_BUFFER) for (const room of rooms) room();
      }),
    isFull: () => client.bufferedAmount >= SOCKET_BUFFER || client.readyState !== client.OPEN,
    onRoom: (room: () => void) => void rooms.push(room),
    onEnd: (end: () => void) => void client.on("close", end),
    end: (code: number, reason: string) => client.close(code, reason),
  };
}

const header = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headers[name];
  return typeof value === "string" && value !== "" ? value : undefined;
};
