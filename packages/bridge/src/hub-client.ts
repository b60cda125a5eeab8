/**
 * A client of the hub's `/mcp` endpoint with one session, opened on first use. A call whose session has
 * expired or whose connection failed is retried once with a new session; a tool call whose response was
 * lost is retried only if the tool is idempotent. Other failures throw a `HubError` or the hub's protocol
 * error.
 */
import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { type Access, sendWithAccess } from "./access.ts";
import { causeOf, HubError, isNeverSent } from "./hub-error.ts";
import { version } from "./version.ts";

interface RequestOptions {
  signal?: AbortSignal;
  onprogress?: (progress: Progress) => void;
}

interface Progress {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}

type ProxiedMethod =
  | "tools/list"
  | "tools/call"
  | "resources/list"
  | "resources/templates/list"
  | "resources/read"
  | "prompts/list"
  | "prompts/get";

export interface HubClient {
  request<Method extends ProxiedMethod>(
    method: Method,
    params: Record<string, unknown> | undefined,
    options?: RequestOptions,
  ): ReturnType<typeof requestOf<Method>>;
  close(): Promise<void>;
}

export interface HubClientOptions {
  url: string;
  access: Access;
  fetch?: typeof fetch;
}

/** wait_for_event takes up to five minutes. */
const CALL_MS = 330_000;
const CONNECT_MS = 20_000;

/** More pages of tools than any hub has. */
const MAX_PAGES = 50;

interface Session {
  client: Promise<Client>;
  /** The number of pending calls. */
  calls: number;
  dropped: boolean;
}

const requestOf = <Method extends ProxiedMethod>(
  client: Client,
  request: { method: Method; params?: Record<string, unknown> },
  options: RequestOptions & { timeout: number },
) => client.request(request, options);

/** Not a code of JSON-RPC or MCP, so no hub sends it. */
const STREAM_ENDED = -1;

/** Fails a request whose stream ends without a response; the SDK would wait for the timeout. */
class HubTransport extends StreamableHTTPClientTransport {
  override send(...[message, options]: Parameters<StreamableHTTPClientTransport["send"]>) {
    if (Array.isArray(message) || !("method" in message && "id" in message))
      return super.send(message, options);
    const { id } = message;
    const error = { code: STREAM_ENDED, message: "the stream ended without a response" };
    // After a response the SDK ignores this message.
    const onRequestStreamEnd = () => this.onmessage?.({ jsonrpc: "2.0", id, error });
    return super.send(message, { ...options, onRequestStreamEnd });
  }
}

export function createHubClient(options: HubClientOptions): HubClient {
  const { url, access } = options;
  const fetch = createCheckedFetch({ url, access, fetch: options.fetch ?? globalThis.fetch });
  let session: Session | undefined;

  async function open(): Promise<Client> {
    const client = new Client({ name: "signalbox-bridge", version });
    const transport = new HubTransport(new URL(`${url}/mcp`), { fetch });
    try {
      await client.connect(transport, { timeout: CONNECT_MS });
    } catch (error) {
      const failure = toHubError(error, url);
      // Calls that wait for the session have not been sent.
      throw failure instanceof HubError && failure.code === "lost"
        ? new HubError("unreachable", failure.message, { cause: failure })
        : failure;
    }
    return client;
  }

  function current(): Session {
    if (session) return session;
    const opened: Session = { client: open(), calls: 0, dropped: false };
    session = opened;
    opened.client.catch(() => drop(opened));
    return opened;
  }

  /** New calls open another session; pending calls may still complete. */
  async function drop(old: Session): Promise<void> {
    old.dropped = true;
    if (session === old) session = undefined;
    await closeUnused(old);
  }

  async function closeUnused({ client, calls, dropped }: Session): Promise<void> {
    if (!dropped || calls > 0) return;
    const opened = await client.catch(() => undefined);
    await opened?.close().catch(() => {});
  }

  async function requestOnce<Method extends ProxiedMethod>(
    method: Method,
    params: Record<string, unknown> | undefined,
    options: RequestOptions & { timeout?: number },
  ) {
    const used = current();
    used.calls += 1;
    try {
      const client = await used.client;
      const request = params ? { method, params } : { method };
      return await requestOf(client, request, { timeout: CALL_MS, ...options });
    } catch (error) {
      const failure = toHubError(error, url);
      if (isSessionFailure(failure)) void drop(used);
      throw failure;
    } finally {
      used.calls -= 1;
      await closeUnused(used);
    }
  }

  /** The hub annotates idempotent tools. A tool without annotations is not idempotent. */
  async function isIdempotent(name: unknown, { signal }: RequestOptions): Promise<boolean> {
    const options = { timeout: CONNECT_MS, ...(signal ? { signal } : {}) };
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const listed = await requestOnce(
        "tools/list",
        cursor === undefined ? {} : { cursor },
        options,
      );
      const tool = listed.tools.find((one) => one.name === name);
      if (tool) return Boolean(tool.annotations?.readOnlyHint || tool.annotations?.idempotentHint);
      cursor = listed.nextCursor;
      if (cursor === undefined) break;
    }
    return false;
  }

  return {
    async request(method, params, requestOptions = {}) {
      for (let mayRetry = true; ; mayRetry = false) {
        try {
          return await requestOnce(method, params, requestOptions);
        } catch (error) {
          if (requestOptions.signal?.aborted || !isSessionFailure(error)) throw error;
          if (
            error.code === "lost" &&
            method === "tools/call" &&
            !(await isIdempotent(params?.name, requestOptions).catch(() => false))
          )
            throw new HubError(
              "lost",
              `${error.message} The hub may have executed ${params?.name}, so it was not sent again: check the current state before you call it again.`,
              { cause: error },
            );
          if (!mayRetry) throw error;
        }
      }
    },
    async close() {
      if (!session) return;
      // Pending calls are aborted.
      session.calls = 0;
      await drop(session);
    },
  };
}

/** Failures of the session or the connection, which a new session may solve. */
const isSessionFailure = (error: unknown): error is HubError =>
  error instanceof HubError && ["unreachable", "expired", "lost"].includes(error.code);

function toHubError(error: unknown, url: string): unknown {
  const hubError = (code: HubError["code"], message: string) =>
    new HubError(code, message, { cause: error });
  const lost = (reason: string) =>
    hubError("lost", `The hub at ${url} cannot be reached: ${reason} before a response arrived.`);
  if (error instanceof HubError) return error;
  if (error instanceof ProtocolError)
    return error.code === STREAM_ENDED ? lost("the stream ended") : error;
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.RequestTimeout)
      return hubError(
        "timeout",
        `The hub at ${url} did not respond in time. It may have executed the request.`,
      );
    if (error.code === SdkErrorCode.NotConnected)
      return hubError("unreachable", `The connection to the hub at ${url} was closed.`);
    if (error.code === SdkErrorCode.ConnectionClosed) return lost("the connection was closed");
    return hubError("rejected", `The hub at ${url} failed: ${causeOf(error)}.`);
  }
  if (error instanceof SyntaxError || (error instanceof Error && error.name === "ZodError"))
    return hubError("not_a_hub", notAHub(url, "not an MCP message"));
  return lost(`the connection broke (${causeOf(error)})`);
}

const notAHub = (url: string, what: string) =>
  `The response of ${url}/mcp is ${what}: check that SIGNALBOX_URL (or WEBHOOK_WORKER_URL) is the URL of a Signalbox hub.`;

/**
 * Checks a response before the SDK reads it. Otherwise an HTML page of a proxy would become a
 * `SyntaxError`, and a failed connection only "fetch failed".
 */
function createCheckedFetch({
  url,
  access,
  fetch,
}: Required<HubClientOptions>): typeof globalThis.fetch {
  return async (input, init) => {
    let response: Response;
    try {
      response = await sendWithAccess(access, (authorization) => {
        const headers = new Headers(init?.headers);
        for (const [name, value] of Object.entries(authorization)) headers.set(name, value);
        return fetch(input, { ...init, headers });
      });
    } catch (error) {
      if (init?.signal?.aborted || !isNeverSent(error)) throw error;
      throw new HubError(
        "unreachable",
        `The hub at ${url} cannot be reached (${causeOf(error)}). Its events are stored; try again later.`,
        { cause: error },
      );
    }
    // The SDK handles error responses to its optional GET and to DELETE.
    if (init?.method !== "POST") return response;
    const { status } = response;
    const type = response.headers.get("content-type")?.split(";")[0]?.trim() ?? "";
    const fail = async (error: HubError) => {
      await response.body?.cancel().catch(() => {});
      throw error;
    };
    if (status === 401) return fail(new HubError("rejected", access.advice()));
    if (status === 404)
      return fail(
        new Headers(init.headers).has("mcp-session-id")
          ? new HubError("expired", `The session with the hub at ${url} has expired.`)
          : new HubError("not_a_hub", notAHub(url, "404, not found")),
      );
    if (!response.ok && type !== "application/json")
      return fail(
        new HubError(
          "rejected",
          `The hub at ${url} returned ${status}: ${await problemDetail(response)}`,
        ),
      );
    if (status === 200 && type !== "application/json" && type !== "text/event-stream")
      return fail(
        new HubError("not_a_hub", notAHub(url, `not JSON but ${type.slice(0, 60) || "nothing"}`)),
      );
    return response;
  };
}

/** The detail of a problem document. Other content is ignored, because it may be a whole page. */
async function problemDetail(response: Response): Promise<string> {
  const text = await response.text().catch(() => "");
  try {
    const { detail, title } = JSON.parse(text) as { detail?: unknown; title?: unknown };
    return String(detail ?? title ?? response.statusText).slice(0, 500);
  } catch {
    return response.statusText || "no reason given";
  }
}
