/**
 * Sessions for clients that use the 2025-era `initialize` handshake; such clients get notifications
 * only in a session. A session belongs to the access that opened it: a request with the session's id
 * and another access gets 404. A session exists only in this process and may end at any time; the
 * client then opens another one.
 */
import {
  isInitializeRequest,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { Access } from "../access/authorizer.ts";
import { findEvictable, ownerOfAccess } from "../lib/fair-share.ts";
import { isStream, type OpenStream, type OpenStreams, observeStream } from "./open-streams.ts";
import {
  isSameAccess,
  type RequestContext,
  requestContextOf,
  toAuthInfo,
} from "./request-context.ts";
import type { ResourceChanges, Watch } from "./resource-changes.ts";
import { type SessionResponses, trackResponses } from "./session-responses.ts";

export interface SessionsOptions {
  createServer(requestContext: RequestContext): Server;
  /** Returns the resources that the client is subscribed to. */
  subscriptions: (server: Server, requestContext: RequestContext) => Subscriptions;
  changes: ResourceChanges;
  streams: OpenStreams;
  now: () => number;
  /** Must return ids that cannot be guessed. */
  newId?: () => string;
  /**
   * The maximum per token and in total. At a limit, the least recently used idle session is evicted. In
   * total each tenant has a fair share: a tenant with more sessions than others loses one first.
   */
  maxPerToken?: number;
  maxTotal?: number;
  /** A session without a request or an open stream ends after this time. */
  idleMs?: number;
}

export interface Subscriptions {
  /** May change at any time. */
  uris: ReadonlySet<string>;
  notify(uri: string): void;
}

export interface Sessions {
  /** Returns undefined if the request neither belongs to a session nor opens one. */
  serve(request: Request, requestContext: RequestContext): Promise<Response | undefined>;
  close(): Promise<void>;
}

interface Session {
  access: Access;
  app: string | undefined;
  server: Server;
  transport: WebStandardStreamableHTTPServerTransport;
  responses: SessionResponses;
  watch: Watch;
  /** The stream of a GET request, which carries notifications. */
  stream: OpenStream | undefined;
  /** The number of responses in progress. */
  busy: number;
  usedAt: number;
}

export function createSessions({
  createServer,
  subscriptions,
  changes,
  streams,
  now,
  newId = () => crypto.randomUUID(),
  maxPerToken = 64,
  maxTotal = 1_024,
  idleMs = 30 * 60_000,
}: SessionsOptions): Sessions {
  /** The least recently used session comes first. */
  const sessions = new Map<string, Session>();

  const isIdle = ({ stream, busy }: Session) => stream === undefined && busy === 0;
  const isExpired = (session: Session) => isIdle(session) && now() - session.usedAt > idleMs;

  function find(id: string, { access, app }: RequestContext): Session | undefined {
    const session = sessions.get(id);
    if (!session || session.app !== app?.slug || !isSameAccess(session.access, access))
      return undefined;
    sessions.delete(id);
    if (isExpired(session)) {
      end(session);
      return undefined;
    }
    session.usedAt = now();
    sessions.set(id, session);
    return session;
  }

  const end = (session: Session) => void session.server.close();

  /** Evicts a session if one more would exceed a limit. Returns false if no session can be evicted. */
  function evict({ token, tenants }: Access): boolean {
    for (const session of sessions.values()) if (isExpired(session)) end(session);
    const all = [...sessions.values()];
    const ofToken = all.filter(({ access }) => access.token === token);
    if (ofToken.length >= maxPerToken) {
      const idle = ofToken.find(isIdle);
      if (idle) end(idle);
      return idle !== undefined;
    }
    if (all.length < maxTotal) return true;
    // Without fair shares, the tokens of one tenant could evict the sessions of all others.
    const owner = ownerOfAccess({ tenants });
    const evicted = findEvictable(all, {
      owner,
      ownerOf: ({ access }) => ownerOfAccess(access),
      isIdle,
    });
    if (evicted) end(evicted);
    return evicted !== undefined;
  }

  async function open(
    request: Request,
    requestContext: RequestContext,
  ): Promise<Response | undefined> {
    const { access } = requestContext;
    if (!evict(access)) return undefined;
    const id = newId();
    const server = createServer(requestContext);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
    });
    const watch = changes.watch({
      tenants: access.tenants,
      ...subscriptions(server, requestContext),
      // A client may subscribe before it opens its stream; changes are kept until then.
      isFull: () => session.stream?.isFull() ?? true,
    });
    const session: Session = {
      access,
      app: requestContext.app?.slug,
      server,
      transport,
      responses: trackResponses(transport),
      watch,
      stream: undefined,
      busy: 0,
      usedAt: now(),
    };
    sessions.set(id, session);
    server.onclose = () => {
      watch.stop();
      sessions.delete(id);
    };
    await server.connect(transport);
    const response = await handlePost(session, request, requestContext);
    if (transport.sessionId === undefined) end(session); // `initialize` was rejected
    return response;
  }

  async function handlePost(
    session: Session,
    request: Request,
    requestContext: RequestContext,
  ): Promise<Response> {
    session.busy += 1;
    const done = () => {
      session.busy -= 1;
      session.usedAt = now();
    };
    const response = await session.transport
      .handleRequest(request, {
        authInfo: toAuthInfo(requestContext),
        ...(requestContext.body !== undefined && { parsedBody: requestContext.body }),
      })
      .catch((error: unknown) => {
        done();
        throw error;
      });
    if (isStream(response)) {
      const signal = AbortSignal.any([request.signal, session.responses.abandonedSignal(request)]);
      return observeStream(response, signal, { onDrain() {}, onEnd: done }).response;
    }
    done();
    return response;
  }

  /**
   * Opens the stream of notifications. It replaces an earlier stream, whose client has most likely
   * disconnected unnoticed. `Last-Event-ID` is ignored: pending notifications are sent now, and a
   * client that lost its stream reads the resources again anyway.
   */
  async function openStream(
    session: Session,
    request: Request,
    requestContext: RequestContext,
  ): Promise<Response> {
    const { transport, watch, access } = session;
    const closeStream = () => transport.closeStandaloneSSEStream();
    closeStream();
    const response = await transport.handleRequest(request, {
      authInfo: toAuthInfo(requestContext),
    });
    if (!isStream(response)) return response;
    const stream: OpenStream = streams.track(response, {
      request,
      access,
      end: closeStream,
      onDrain: watch.resume,
      onEnd() {
        session.usedAt = now();
        if (session.stream === stream) session.stream = undefined;
      },
    });
    session.stream = stream;
    return stream.response;
  }

  return {
    async serve(request, requestContext) {
      const isPost = request.method === "POST";
      // Only 2026-07-28 requests have this header, and that protocol has no sessions.
      if (isPost && !request.headers.has("mcp-method") && isInitializeRequest(requestContext.body))
        return open(request, requestContext);
      const id = request.headers.get("mcp-session-id");
      if (id === null || !(await isLegacyRequest(request, requestContext.body))) return undefined;
      const session = find(id, requestContext);
      if (!session) return notFound();
      return request.method === "GET"
        ? openStream(session, request, requestContext)
        : handlePost(session, request, requestContext);
    },
    async close() {
      await Promise.all([...sessions.values()].map(({ server }) => server.close()));
    },
  };
}

const notFound = () =>
  Response.json(
    { jsonrpc: "2.0", error: { code: -32001, message: "Session not found" }, id: null },
    { status: 404 },
  );

const MAX_URIS = 1_000;

/** `resources/subscribe` and `resources/unsubscribe` in a session. */
export const resourceSubscriptions =
  (isResource: (uri: string, access: Access) => Promise<boolean>) =>
  (server: Server): Subscriptions => {
    const uris = new Set<string>();
    server.setRequestHandler("resources/subscribe", async ({ params: { uri } }, context) => {
      if (!(await isResource(uri, requestContextOf(context).access)))
        throw new ProtocolError(
          ProtocolErrorCode.ResourceNotFound,
          `There is no resource ${uri.slice(0, 200)}.`,
          { uri },
        );
      if (uris.size >= MAX_URIS && !uris.has(uri))
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `uri: the session has ${MAX_URIS} subscriptions, which is the limit; unsubscribe from some first.`,
        );
      uris.add(uri);
      return {};
    });
    server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
      uris.delete(uri);
      return {};
    });
    return { uris, notify: (uri) => void server.sendResourceUpdated({ uri }).catch(() => {}) };
  };
