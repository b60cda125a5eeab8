/**
 * Sessions for clients of the `initialize` eras: they are how those are told of changes. A session
 * belongs to the access that opened it; whoever else comes with its id is told what strangers are,
 * that there is no such session. It lives in this process only, and may end at any time: a client
 * that gets 404 opens another.
 */
import {
  isInitializeRequest,
  isLegacyRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { Access } from "../tenants/authorizer.ts";
import { isSameAccess, peekBody, type RequestContext, toAuthInfo } from "./request-context.ts";
import type { ResourceChanges, Watcher } from "./resource-changes.ts";
import { type Answers, watchAnswers } from "./sessions-answers.ts";
import { type HeldStream, isStream, type OpenStreams, observe } from "./sessions-streams.ts";

export interface SessionsOptions {
  createServer(requestContext: RequestContext): Server;
  /** What the client of such a server is told of, and how. */
  subscriptions: (server: Server, requestContext: RequestContext) => Subscriptions;
  changes: ResourceChanges;
  streams: OpenStreams;
  now: () => number;
  /** Ids that nobody can guess. */
  newId?: () => string;
  /** How many there may be, of one token and of all; the one that was idle for longest makes room. */
  mostOfToken?: number;
  most?: number;
  /** After so long without a request or an open stream a session ends. */
  idleMs?: number;
}

export interface Subscriptions {
  /** May change at any time. */
  uris: ReadonlySet<string>;
  tell(uri: string): void;
}

export interface Sessions {
  /** Undefined where the request does not belong to a session, and opens none. */
  serve(request: Request, requestContext: RequestContext): Promise<Response | undefined>;
  close(): Promise<void>;
}

interface Session {
  access: Access;
  app: string | undefined;
  server: Server;
  transport: WebStandardStreamableHTTPServerTransport;
  answers: Answers;
  watcher: Watcher;
  /** That carries what the client did not ask for just now. */
  stream: HeldStream | undefined;
  /** Answers that are under way. */
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
  mostOfToken = 64,
  most = 1_024,
  idleMs = 30 * 60_000,
}: SessionsOptions): Sessions {
  /** The one that was used least recently comes first. */
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

  /** False where all that are in the way are in use. */
  function evictIdle(token: string): boolean {
    for (const session of sessions.values()) if (isExpired(session)) end(session);
    const fits = (limit: number, counts: (session: Session) => boolean) => {
      const some = [...sessions.values()].filter(counts);
      if (some.length < limit) return true;
      const idle = some.find(isIdle);
      if (idle) end(idle);
      return idle !== undefined;
    };
    return fits(mostOfToken, ({ access }) => access.token === token) && fits(most, () => true);
  }

  async function open(
    request: Request,
    requestContext: RequestContext,
  ): Promise<Response | undefined> {
    const { access } = requestContext;
    if (!evictIdle(access.token)) return undefined;
    const id = newId();
    const server = createServer(requestContext);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
    });
    const watcher = changes.watch({
      tenants: access.tenants,
      ...subscriptions(server, requestContext),
      // Clients subscribe first and open the stream when they get to it.
      isFull: () => session.stream?.isFull() ?? true,
    });
    const session: Session = {
      access,
      app: requestContext.app?.slug,
      server,
      transport,
      answers: watchAnswers(transport),
      watcher,
      stream: undefined,
      busy: 0,
      usedAt: now(),
    };
    sessions.set(id, session);
    server.onclose = () => {
      watcher.stop();
      sessions.delete(id);
    };
    await server.connect(transport);
    const response = await answer(session, request, requestContext);
    if (transport.sessionId === undefined) end(session); // it was refused
    return response;
  }

  async function answer(
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
      .handleRequest(request, { authInfo: toAuthInfo(requestContext) })
      .catch((error: unknown) => {
        done();
        throw error;
      });
    if (isStream(response)) {
      const signal = AbortSignal.any([request.signal, session.answers.lost(request)]);
      return observe(response, signal, { onDrain() {}, onEnd: done }).response;
    }
    done();
    return response;
  }

  /**
   * The stream of changes. A second one takes over: the first is most likely one whose client has
   * gone without a word. `Last-Event-ID` is not looked at: what could not be sent is sent now, and
   * since a change only says "read again", a client that lost its stream reads again by itself.
   */
  async function stream(
    session: Session,
    request: Request,
    requestContext: RequestContext,
  ): Promise<Response> {
    const { transport, watcher, access } = session;
    const cut = () => transport.closeStandaloneSSEStream();
    cut();
    const response = await transport.handleRequest(request, {
      authInfo: toAuthInfo(requestContext),
    });
    if (!isStream(response)) return response;
    const held: HeldStream = streams.hold(response, {
      request,
      access,
      end: cut,
      onDrain: watcher.resume,
      onEnd() {
        session.usedAt = now();
        if (session.stream === held) session.stream = undefined;
      },
    });
    session.stream = held;
    return held.response;
  }

  return {
    async serve(request, requestContext) {
      const isPost = request.method === "POST";
      // Later eras name the method in a header.
      if (
        isPost &&
        !request.headers.has("mcp-method") &&
        isInitializeRequest(await peekBody(request))
      )
        return open(request, requestContext);
      const id = request.headers.get("mcp-session-id");
      if (id === null || !(await isLegacyRequest(request))) return undefined;
      const session = find(id, requestContext);
      if (!session) return notFound();
      return request.method === "GET"
        ? stream(session, request, requestContext)
        : answer(session, request, requestContext);
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
