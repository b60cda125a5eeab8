import * as http from "node:http";
import * as https from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { pipeline, Readable } from "node:stream";
import { OutboundError } from "@signalbox/rules/flows/outbound.ts";
import type { WebFetch } from "../../kernel/lib/web-fetch.ts";
import {
  CONNECTION_HEADERS,
  type Hop,
  nextHop,
  parseOutboundUrl,
} from "../../kernel/outbound/request-rules.ts";
import {
  type AddressOptions,
  bareHost,
  createResolveHost,
  decoderFor,
  headersOf,
  outboundFailure,
  sendWhenOpen,
  tlsFailure,
} from "./pinned-request.ts";

export interface GuardedWebFetchOptions extends AddressOptions {
  /** Whether http: URLs may be called. */
  allowHttp: boolean;
  /** Certificate authorities in PEM, instead of Node's list. */
  ca?: string;
}

const MAX_REDIRECTS = 5;

/**
 * How long an unused connection stays open. Many servers close idle connections after five seconds; a
 * request on a connection that the server is closing would fail.
 */
const KEEP_ALIVE_MS = 4_000;

/** How long one of several addresses may take to connect before the next is tried. */
const ATTEMPT_MS = 1_000;

/**
 * Creates a `fetch` that does not reach private networks. It reuses connections, which is safe against
 * DNS rebinding, since the address of a connection is checked when it is opened. Redirects are
 * checked like the first request, and lose all credentials if they change the origin.
 */
export function createGuardedWebFetch({
  allowHttp,
  ca,
  ...options
}: GuardedWebFetchOptions): WebFetch {
  const resolveHost = createResolveHost(options);
  const lookup: LookupFunction = (host, { all }, done) => {
    resolveHost(host).then(
      (addresses) => {
        const records = addresses.map((address) => ({ address, family: isIP(address) }));
        if (all) done(null, records);
        else done(null, records[0]?.address ?? "", records[0]?.family);
      },
      (error: Error) => done(error, ""),
    );
  };
  const agentOptions = {
    keepAlive: true,
    timeout: KEEP_ALIVE_MS, // only closes unused connections
    lookup,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
  };
  const agents = {
    "http:": new http.Agent(agentOptions),
    "https:": new https.Agent({ ...agentOptions, ca }),
  };

  async function send(
    hop: Hop,
    signal: AbortSignal | undefined,
    beforeSend: () => void,
  ): Promise<http.IncomingMessage> {
    const { method, url, headers, body } = hop;
    const host = bareHost(url);
    // Node calls `lookup` for names only, so an IP address is checked here.
    if (isIP(host)) await resolveHost(host);
    signal?.throwIfAborted();
    const isTls = url.protocol === "https:";
    const request = (isTls ? https : http).request({
      agent: agents[isTls ? "https:" : "http:"],
      method,
      host,
      port: url.port,
      path: url.pathname + url.search,
      setHost: false,
      headers: {
        ...Object.fromEntries(headers),
        host: url.host,
        ...(body ? { "content-length": String(body.byteLength) } : {}),
      },
      ...(signal ? { signal } : {}),
    });
    let isHandshaking = false;
    request.once("socket", (socket) => {
      if (!socket.connecting) return;
      socket.once("connect", () => {
        isHandshaking = isTls;
      });
      socket.once("secureConnect", () => {
        isHandshaking = false;
      });
    });
    return await new Promise((resolve, reject) => {
      request.once("response", resolve);
      // This listener stays attached: a late error without a listener would crash the process.
      request.on("error", (error) => reject(isHandshaking ? tlsFailure(error, url) : error));
      request.once("close", () => reject(new Error("the connection was closed")));
      sendWhenOpen(request, body, beforeSend);
    });
  }

  return async (input, init) => {
    const { hop: first, redirect, signal } = await readRequest(input, init, allowHttp);
    const { beforeSend = () => {} } = init ?? {};
    let hop = first;
    try {
      for (let followed = 0; ; followed += 1) {
        const message = await send(hop, signal, followed === 0 ? beforeSend : () => {});
        const response = toResponse(hop, message);
        const next =
          redirect === "manual"
            ? undefined
            : nextHop(hop, response.status, response.headers, { allowHttp });
        if (!next) return response;
        message.destroy();
        if (redirect === "error" || followed === MAX_REDIRECTS)
          throw new OutboundError(
            "too_many_redirects",
            `${hop.url.host} redirects to ${next.url.origin}${next.url.pathname}, which is not followed. Use the final address.`,
          );
        hop = next;
      }
    } catch (error) {
      throw signal?.aborted ? signal.reason : outboundFailure(error, hop.url);
    }
  };
}

async function readRequest(
  input: string | URL | Request,
  overrides: RequestInit | undefined,
  allowHttp: boolean,
) {
  const init = input instanceof Request ? { ...(await initOf(input)), ...overrides } : overrides;
  const url = parseOutboundUrl(input instanceof Request ? input.url : String(input), { allowHttp });
  const headers = new Headers({ "accept-encoding": "gzip, br", "user-agent": "signalbox" });
  new Headers(init?.headers).forEach((value, name) => {
    if (!CONNECTION_HEADERS.has(name)) headers.set(name, value);
  });
  const method = (init?.method ?? "GET").toUpperCase();
  const hop: Hop = { method, url, headers, body: encodeBody(init?.body, headers) };
  return { hop, redirect: init?.redirect ?? "follow", signal: init?.signal ?? undefined };
}

const initOf = async (request: Request): Promise<RequestInit> => ({
  method: request.method,
  headers: request.headers,
  body: request.body ? new Uint8Array(await request.arrayBuffer()) : null,
  redirect: request.redirect,
  signal: request.signal,
});

/** Also sets the content type of form data in `headers`. */
function encodeBody(body: unknown, headers: Headers): Uint8Array | undefined {
  if (body === undefined || body === null) return undefined;
  if (body instanceof URLSearchParams && !headers.has("content-type"))
    headers.set("content-type", "application/x-www-form-urlencoded");
  if (typeof body === "string" || body instanceof URLSearchParams) return Buffer.from(String(body));
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (body instanceof Uint8Array) return body;
  throw new TypeError("the body must be a string, bytes or URLSearchParams");
}

const STATUSES_WITHOUT_BODY = new Set([101, 204, 205, 304]);

function toResponse({ method }: Hop, message: http.IncomingMessage): Response {
  const status = message.statusCode ?? 0;
  if (status < 200) throw new Error("the response has no final status");
  const decoder = decoderFor(method, message);
  const headers = headersOf(message, decoder ? ["content-encoding", "content-length"] : []);
  const init = { status, statusText: message.statusMessage ?? "", headers };
  if (method === "HEAD" || STATUSES_WITHOUT_BODY.has(status)) {
    message.resume();
    return new Response(null, init);
  }
  const decoded: Readable = decoder ? pipeline(message, decoder(), () => {}) : message;
  return new Response(Readable.toWeb(decoded) as ReadableStream<Uint8Array>, init);
}
