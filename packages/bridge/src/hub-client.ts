/**
 * The hub's `/mcp`, over one session that is opened when it is first needed and used from then on.
 * A call that finds the session gone or nobody there opens a new one and is tried once more; one
 * whose answer got lost on the way only if it may be done twice. Whatever else goes wrong is a
 * `HubError` in plain words, or the hub's own protocol error.
 */
import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
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
  token: string | undefined;
  fetch?: typeof fetch;
}

/** wait_for_event may take five minutes. */
const CALL_MS = 330_000;
const CONNECT_MS = 20_000;

/** No hub has more pages of tools. */
const MOST_PAGES = 50;

interface Session {
  client: Promise<Client>;
  /** How many calls are under way. */
  calls: number;
  gone: boolean;
}

const requestOf = <Method extends ProxiedMethod>(
  client: Client,
  request: { method: Method; params?: Record<string, unknown> },
  options: RequestOptions & { timeout: number },
) => client.request(request, options);

/** No code of JSON-RPC or MCP, so no hub sends it. */
const STREAM_ENDED = -1;

/** The SDK would wait until the timeout for an answer whose stream has ended without it. */
class HubTransport extends StreamableHTTPClientTransport {
  override send(...[message, options]: Parameters<StreamableHTTPClientTransport["send"]>) {
    if (Array.isArray(message) || !("method" in message && "id" in message))
      return super.send(message, options);
    const { id } = message;
    const error = { code: STREAM_ENDED, message: "the stream ended without an answer" };
    // After an answer this is one to a question that nobody asks any more.
    const onRequestStreamEnd = () => this.onmessage?.({ jsonrpc: "2.0", id, error });
    return super.send(message, { ...options, onRequestStreamEnd });
  }
}

export function createHubClient(options: HubClientOptions): HubClient {
  const { url, token } = options;
  const fetch = createCheckedFetch(url, options.fetch ?? globalThis.fetch);
  let session: Session | undefined;

  async function open(): Promise<Client> {
    const client = new Client({ name: "signalbox-bridge", version });
    const transport = new HubTransport(new URL(`${url}/mcp`), {
      fetch,
      ...(token === undefined
        ? {}
        : { requestInit: { headers: { authorization: `Bearer ${token}` } } }),
    });
    try {
      await client.connect(transport, { timeout: CONNECT_MS });
    } catch (error) {
      const failure = inWords(error, url);
      // What is waiting for the session was not sent.
      throw failure instanceof HubError && failure.code === "lost"
        ? new HubError("unreachable", failure.message, { cause: failure })
        : failure;
    }
    return client;
  }

  function current(): Session {
    if (session) return session;
    const opened: Session = { client: open(), calls: 0, gone: false };
    session = opened;
    opened.client.catch(() => drop(opened));
    return opened;
  }

  /** For new calls; those under way may still be answered. */
  async function drop(gone: Session): Promise<void> {
    gone.gone = true;
    if (session === gone) session = undefined;
    await closeUnused(gone);
  }

  async function closeUnused({ client, calls, gone }: Session): Promise<void> {
    if (!gone || calls > 0) return;
    const opened = await client.catch(() => undefined);
    await opened?.close().catch(() => {});
  }

  async function once<Method extends ProxiedMethod>(
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
      const failure = inWords(error, url);
      if (isGone(failure)) void drop(used);
      throw failure;
    } finally {
      used.calls -= 1;
      await closeUnused(used);
    }
  }

  /** The hub says of each tool whether it may be called twice; what it does not say may not. */
  async function mayRepeat(name: unknown, { signal }: RequestOptions): Promise<boolean> {
    const options = { timeout: CONNECT_MS, ...(signal ? { signal } : {}) };
    let cursor: string | undefined;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const listed = await once("tools/list", cursor === undefined ? {} : { cursor }, options);
      const tool = listed.tools.find((one) => one.name === name);
      if (tool) return Boolean(tool.annotations?.readOnlyHint || tool.annotations?.idempotentHint);
      cursor = listed.nextCursor;
      if (cursor === undefined) break;
    }
    return false;
  }

  return {
    async request(method, params, requestOptions = {}) {
      for (let again = true; ; again = false) {
        try {
          return await once(method, params, requestOptions);
        } catch (error) {
          if (requestOptions.signal?.aborted || !isGone(error)) throw error;
          if (
            error.code === "lost" &&
            method === "tools/call" &&
            !(await mayRepeat(params?.name, requestOptions).catch(() => false))
          )
            throw new HubError(
              "lost",
              `${error.message} ${params?.name} may have been done all the same, so it was not sent again: look at what is there before you call it once more.`,
              { cause: error },
            );
          if (!again) throw error;
        }
      }
    },
    async close() {
      if (!session) return;
      // Nobody waits for the answers any more.
      session.calls = 0;
      await drop(session);
    },
  };
}

/** The session, the connection or the hub: with new ones it may go better. */
const isGone = (error: unknown): error is HubError =>
  error instanceof HubError && ["unreachable", "expired", "lost"].includes(error.code);

function inWords(error: unknown, url: string): unknown {
  const as = (code: HubError["code"], words: string) => new HubError(code, words, { cause: error });
  const lost = (why: string) =>
    as("lost", `The hub at ${url} cannot be reached any more: ${why} before its answer came.`);
  if (error instanceof HubError) return error;
  if (error instanceof ProtocolError)
    return error.code === STREAM_ENDED ? lost("the stream ended") : error;
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.RequestTimeout)
      return as(
        "timeout",
        `The hub at ${url} did not answer in time. It may have done all the same what it was asked.`,
      );
    if (error.code === SdkErrorCode.NotConnected)
      return as("unreachable", `The connection to the hub at ${url} was closed.`);
    if (error.code === SdkErrorCode.ConnectionClosed) return lost("the connection was closed");
    return as("refused", `The hub at ${url} failed: ${causeOf(error)}.`);
  }
  if (error instanceof SyntaxError || (error instanceof Error && error.name === "ZodError"))
    return as("not_a_hub", notAHub(url, "not JSON as MCP has it"));
  return lost(`the connection broke (${causeOf(error)})`);
}

const notAHub = (url: string, what: string) =>
  `What ${url}/mcp answers is ${what}: is WEBHOOK_WORKER_URL the address of a Signalbox hub?`;

/**
 * Looks at the answer before the SDK does: a proxy's page of HTML would become a SyntaxError
 * there, and a refused connection "fetch failed".
 */
function createCheckedFetch(url: string, fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    let response: Response;
    try {
      response = await fetch(input, init);
    } catch (error) {
      if (init?.signal?.aborted || !isNeverSent(error)) throw error;
      throw new HubError(
        "unreachable",
        `The hub at ${url} cannot be reached (${causeOf(error)}). Its events are safe; try again later.`,
        { cause: error },
      );
    }
    // The optional GET for the hub's own messages, and DELETE: the SDK knows their refusals.
    if (init?.method !== "POST") return response;
    const { status } = response;
    const type = response.headers.get("content-type")?.split(";")[0]?.trim() ?? "";
    const refuse = async (error: HubError) => {
      await response.body?.cancel().catch(() => {});
      throw error;
    };
    if (status === 401)
      return refuse(
        new HubError(
          "refused",
          `The hub at ${url} does not take the token: check SIGNALBOX_TOKEN.`,
        ),
      );
    if (status === 404)
      return refuse(
        new Headers(init.headers).has("mcp-session-id")
          ? new HubError("expired", `The session with the hub at ${url} has expired.`)
          : new HubError("not_a_hub", notAHub(url, "404, not found")),
      );
    if (!response.ok && type !== "application/json")
      return refuse(
        new HubError("refused", `The hub at ${url} answered ${status}: ${await words(response)}`),
      );
    if (status === 200 && type !== "application/json" && type !== "text/event-stream")
      return refuse(
        new HubError("not_a_hub", notAHub(url, `not JSON but ${type.slice(0, 60) || "nothing"}`)),
      );
    return response;
  };
}

/** Of a problem document its detail; of anything else nothing, it may be a whole page. */
async function words(response: Response): Promise<string> {
  const text = await response.text().catch(() => "");
  try {
    const { detail, title } = JSON.parse(text) as { detail?: unknown; title?: unknown };
    return String(detail ?? title ?? response.statusText).slice(0, 500);
  } catch {
    return response.statusText || "no reason given";
  }
}
