/**
 * Serves `GET /events` and `GET /api/live` over any transport: authorizes a client, connects it to the
 * feed, sends heartbeats, and disconnects clients whose token is no longer valid or that stopped reading.
 * The host provides a `LiveConnection` for each client: Server-Sent Events or a WebSocket.
 */

import type { AuthorizeRequest } from "../../kernel/access/authorize-request.ts";
import { type Access, Denied } from "../../kernel/access/authorizer.ts";
import { allows, roleHint } from "../../kernel/access/scopes.ts";
import { type StreamSlots, TOO_MANY_STREAMS } from "../../kernel/access/stream-slots.ts";
import type { Answer } from "../../kernel/http/ingest-outcome.ts";
import { DENIED_TITLES } from "../../kernel/http/problem-response.ts";
import { separateQueryToken } from "../../kernel/http/request-token.ts";
import { PROBLEM_TYPE, problem } from "../../kernel/lib/problem.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import { RETRY_AFTER_S } from "../../kernel/store/availability.ts";
import type { Store } from "../../store.ts";
import { decodeCursor, predatesFailover } from "../inbox/cursor.ts";
import type { Feed, Filter, Follower } from "./feed.ts";
import { type MessageEncoder, streamLogId } from "./message-encoder.ts";
import { followTab, parseTopics, type TabRequest, type TabStreamOptions } from "./tab-stream.ts";

export interface LiveStreamsOptions {
  store: Pick<Store, "getLogId" | "subscribe">;
  feed: Feed;
  followRun: TabStreamOptions["followRun"];
  authorizeRequest: AuthorizeRequest;
  /** Returns whether the token still grants this access. */
  recheck: (access: Access) => Promise<boolean>;
  streamSlots: StreamSlots;
  timers: Pick<Timers, "now" | "monotonic" | "after">;
  onError: (error: unknown) => void;
  heartbeatMs?: number;
  /** How often connections are checked for clients that stopped reading. */
  stallCheckMs?: number;
  /** How long a connection may stay full before it is closed. */
  stallMs?: number;
}

export interface LiveRequest {
  method: string;
  /** Path and query. */
  url: string;
  /** The value of a header, by its name in lower case; undefined if missing or empty. */
  header(name: string): string | undefined;
}

/** One client's connection, whatever its transport. */
export interface LiveConnection {
  encoder: MessageEncoder;
  send(text: string): void;
  /** Whether the send buffer is full. While it is, no events are sent. */
  isFull(): boolean;
  onDrain(listener: () => void): void;
  /** Calls the listener immediately if the connection is already closed. */
  onClose(listener: () => void): void;
  /** Closes the connection with a reason. A second call drops it without waiting for the client. */
  close(code: number, reason: string): void;
}

/** An authorized request: its access, cursor and filter. */
export interface LiveSubscription {
  access: Access;
  /** The result of `streamLogId`. */
  log: string;
  after: ReadonlyMap<string, number>;
  /** Whether the database has failed over since the client got its cursor. */
  isBeforeFailover: boolean;
  filter: Filter;
  /** Set for the stream of a browser tab. */
  tab?: Pick<TabRequest, "tenant" | "topics" | "readsRuns" | "isAdmin"> | undefined;
}

export interface LiveStreams {
  /** Returns the subscription, or the answer that rejects the request. */
  authorize(request: LiveRequest): Promise<LiveSubscription | Answer>;
  /** Sends events to the connection until it closes. Rejects if the log cannot be read. */
  follow(subscription: LiveSubscription, connection: LiveConnection): Promise<void>;
  /** Like `follow`, if the access that was authorized earlier is still valid. Otherwise closes the connection. */
  resume(subscription: LiveSubscription, connection: LiveConnection): Promise<void>;
  /** Returns the number of connected clients. */
  countConnected(): number;
  /** Closes all connections. The clients can resume from their cursors. */
  close(): void;
}

interface Client {
  /** When its connection became full; undefined if it is not full. */
  fullSince: number | undefined;
  sendHeartbeat(): void;
  close: LiveConnection["close"];
}

/** Close codes of WebSockets. */
export const UNAUTHORIZED = 4401;
const TOO_SLOW = 4408;
const GOING_AWAY = 1001;
const TRY_AGAIN_LATER = 1013;
export const TOKEN_INVALID = "the token no longer grants access to all tenants of this stream";

export const isAnswer = (value: LiveSubscription | Answer): value is Answer => "status" in value;

const problemAnswer = (
  status: number,
  code: string,
  title: string,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Answer => ({
  status,
  headers: { "content-type": PROBLEM_TYPE, ...headers },
  body: JSON.stringify(problem(status, code, title, detail)),
});

export const liveUnavailable = (): Answer =>
  problemAnswer(
    503,
    "storage_unavailable",
    "Storage unavailable",
    "The log cannot be read. Try again later.",
    { "retry-after": String(RETRY_AFTER_S) },
  );

export function createLiveStreams({
  store,
  feed,
  followRun,
  authorizeRequest,
  recheck,
  streamSlots,
  timers,
  onError,
  heartbeatMs = 30_000,
  stallCheckMs = 2_000,
  stallMs = 30_000,
}: LiveStreamsOptions): LiveStreams {
  const { now } = timers;
  const clients = new Set<Client>();
  let stopTimers: (() => void) | undefined;

  // A host may evict an idle hub, so timers exist only while a client is connected.
  const addClient = (client: Client) => {
    clients.add(client);
    if (stopTimers) return;
    const stopHeartbeat = repeat(timers, heartbeatMs, () => {
      for (const client of clients) client.sendHeartbeat();
    });
    const stopStallCheck = repeat(timers, stallCheckMs, () => {
      for (const { fullSince, close } of clients)
        if (fullSince !== undefined && timers.monotonic() - fullSince > stallMs)
          close(TOO_SLOW, "too slow; resume after your cursor");
    });
    stopTimers = () => {
      stopHeartbeat();
      stopStallCheck();
    };
  };
  const removeClient = (client: Client) => {
    clients.delete(client);
    if (clients.size > 0) return;
    stopTimers?.();
    stopTimers = undefined;
  };

  async function authorize(request: LiveRequest): Promise<LiveSubscription | Answer> {
    const { method, header } = request;
    const { url, token } = separateQueryToken(request.url);
    const authorization = header("authorization") ?? (token && `Bearer ${token}`) ?? null;
    if (method !== "GET")
      return problemAnswer(
        405,
        "method_not_allowed",
        "Method not allowed",
        "Only GET is allowed.",
        {
          allow: "GET",
        },
      );
    const { href, searchParams } = new URL(url, `http://${header("host") ?? "hub"}`);
    const access = await authorizeRequest(
      {
        method,
        url: href,
        headers: {
          get: (name) => (name === "authorization" ? authorization : (header(name) ?? null)),
        },
      },
      { scope: "inbox:read" },
    );
    if (access instanceof Denied) {
      const { status, code, detail, headers } = access;
      return problemAnswer(status, code, DENIED_TITLES[status], detail, headers);
    }
    const tab = isTabPath(request.url) ? readTab(access, searchParams) : undefined;
    if (tab && "status" in tab) return tab;
    const { tenants } = access;
    // The header takes precedence: a browser that reconnects sends the URL with the old `after` again.
    const cursor = header("last-event-id") ?? searchParams.get("after") ?? undefined;
    const logId = await store.getLogId();
    const after =
      cursor === undefined ? new Map<string, number>() : decodeCursor(cursor, tenants, logId);
    if (!after)
      return problemAnswer(
        400,
        "invalid_cursor",
        "Invalid cursor",
        "`after` or Last-Event-ID must be a cursor that this hub returned.",
      );
    if (!streamSlots.hasCapacity(access))
      return problemAnswer(429, "busy", "Too many streams", TOO_MANY_STREAMS, {
        "retry-after": String(RETRY_AFTER_S),
      });
    // A filter without a value, such as `?type=`, is ignored.
    const filterValue = (name: string) => searchParams.get(name) || undefined;
    const filter = {
      type: filterValue("type"),
      repo: filterValue("repo"),
      source: filterValue("source"),
    };
    return {
      access,
      log: await streamLogId(logId, tenants),
      after,
      isBeforeFailover: cursor !== undefined && predatesFailover(cursor, logId),
      filter,
      tab,
    };
  }

  const streams: LiveStreams = {
    async authorize(request) {
      try {
        return await authorize(request);
      } catch (error) {
        onError(error);
        return liveUnavailable();
      }
    },

    async follow({ access, log, after, isBeforeFailover, filter, tab }, connection) {
      const { tenants } = access;
      const { encoder, send } = connection;
      let follower: Follower | undefined;
      let isClosed = false;
      const client: Client = {
        fullSince: undefined,
        sendHeartbeat() {
          if (follower && !connection.isFull())
            send(encoder.heartbeat(now(), follower.cursor, tenants));
        },
        close: connection.close,
      };
      const release = streamSlots.open(access, (reason) =>
        reason === "revoked"
          ? connection.close(UNAUTHORIZED, TOKEN_INVALID)
          : connection.close(TRY_AGAIN_LATER, "other tenants have fewer streams; resume later"),
      );
      // Another stream may have been opened since the request was authorized.
      if (!release) return connection.close(TRY_AGAIN_LATER, "too many streams; resume later");
      addClient(client);
      connection.onClose(() => {
        isClosed = true;
        removeClient(client);
        release();
        follower?.stop();
      });
      connection.onDrain(() => {
        client.fullSince = undefined;
        follower?.resume();
      });
      const isFull = () => {
        if (!connection.isFull()) return false;
        client.fullSince ??= timers.monotonic();
        return true;
      };
      if (tab) {
        const options = { feed, store, followRun, timers, onError };
        follower = await followTab(options, { ...tab, after, connection, isFull });
        if (isClosed) follower.stop();
        return;
      }
      follower = await feed.follow({
        tenants,
        after,
        isBeforeFailover,
        filter,
        sink: {
          start: (cursor) => send(encoder.connected(log, cursor, tenants)),
          event: (event, cursor) => send(encoder.event(event, cursor, tenants)),
          truncated: (tenant, reason) => send(encoder.truncated(tenant, reason)),
          isFull,
        },
      });
      if (isClosed) follower.stop();
    },

    async resume(subscription, connection) {
      if (await recheck(subscription.access)) return streams.follow(subscription, connection);
      connection.close(UNAUTHORIZED, TOKEN_INVALID);
    },

    countConnected: () => clients.size,

    close() {
      stopTimers?.();
      for (const client of clients)
        client.close(GOING_AWAY, "the hub is stopping; resume after your cursor");
    },
  };
  return streams;
}

const TAB_PATH = "/api/live";
const isTabPath = (url: string) => url === TAB_PATH || url.startsWith(`${TAB_PATH}?`);

/** Whether the URL (path and query) is that of `GET /events`, which is also served over WebSockets. */
export const isSocketPath = (url: string): boolean => /^\/events(\?|$)/.test(url);
export const isLivePath = (url: string): boolean => isSocketPath(url) || isTabPath(url);

/** Returns the tenant and the topics of a tab, or the answer that rejects the request. */
function readTab(
  access: Access,
  query: URLSearchParams,
): NonNullable<LiveSubscription["tab"]> | Answer {
  const invalid = (detail: string) => problemAnswer(400, "invalid", "Invalid request", detail);
  const [tenant, ...otherTenants] = access.tenants;
  if (tenant === undefined || otherTenants.length > 0)
    return invalid("tenant: is missing: name one with ?tenant=…");
  const topics = parseTopics(query.get("topics"));
  if (typeof topics === "string") return invalid(`topics: ${topics}`);
  const readsRuns = allows(access, "runs:read");
  const isAdmin = allows(access, "admin");
  if ((topics.runs.length > 0 && !readsRuns) || (topics.flows.length > 0 && !isAdmin))
    return problemAnswer(
      403,
      "insufficient_scope",
      DENIED_TITLES[403],
      `Runs need the scope runs:read, and flows the scope admin.${roleHint(access)}`,
    );
  return { tenant, topics, readsRuns, isAdmin };
}

function repeat({ after }: Pick<Timers, "after">, ms: number, work: () => void): () => void {
  let cancel = () => {};
  const schedule = () => {
    cancel = after(ms, () => {
      schedule();
      work();
    });
  };
  schedule();
  return () => cancel();
}
