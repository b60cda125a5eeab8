/**
 * The hub's `/mcp`, over one session that is opened when it is first needed and used from then on.
 * A call that finds the session or the connection gone opens a new one and is tried once more;
 * whatever else goes wrong is a `HubError` in plain words, or the hub's own protocol error.
 */
import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { causeOf, HubError } from "./hub-error.ts";
import { version } from "./version.ts";

type RequestOptions = { signal?: AbortSignal; onprogress?: (progress: Progress) => void };

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
  let session: Promise<Client> | undefined;

  async function open(): Promise<Client> {
    const client = new Client({ name: "signalbox-bridge", version });
    const transport = new HubTransport(new URL(`${url}/mcp`), {
      fetch,
      ...(token === undefined
        ? {}
        : { requestInit: { headers: { authorization: `Bearer ${token}` } } }),
    });
    await client.connect(transport, { timeout: CONNECT_MS });
    return client;
  }

  function current(): Promise<Client> {
    if (session) return session;
    const opening = open();
    session = opening;
    opening.catch(() => {
      if (session === opening) session = undefined;
    });
    return opening;
  }

  async function drop(gone: Promise<Client>): Promise<void> {
    if (session === gone) session = undefined;
    const opened = await gone.catch(() => undefined);
    await opened?.close().catch(() => {});
  }

  async function once<Method extends ProxiedMethod>(
    used: Promise<Client>,
    method: Method,
    params: Record<string, unknown> | undefined,
    { signal, onprogress }: RequestOptions,
  ) {
    const client = await used;
    try {
      return await requestOf(client, params ? { method, params } : { method }, {
        timeout: CALL_MS,
        ...(signal ? { signal } : {}),
        ...(onprogress ? { onprogress } : {}),
      });
    } catch (error) {
      if (!(error instanceof ProtocolError && error.code === STREAM_ENDED)) throw error;
      throw new HubError("unreachable", `The hub at ${url} went away during the call.`);
    }
  }

  return {
    async request(method, params, requestOptions = {}) {
      const used = current();
      try {
        return await once(used, method, params, requestOptions);
      } catch (error) {
        if (requestOptions.signal?.aborted || !isGone(error)) throw inWords(error, url);
        await drop(used);
      }
      const again = current();
      try {
        return await once(again, method, params, requestOptions);
      } catch (error) {
        if (isGone(error)) await drop(again);
        throw inWords(error, url);
      }
    },
    async close() {
      if (session) await drop(session);
    },
  };
}

function isGone(error: unknown): boolean {
  if (error instanceof HubError) return error.code === "unreachable" || error.code === "expired";
  return (
    error instanceof SdkError &&
    (error.code === SdkErrorCode.NotConnected || error.code === SdkErrorCode.ConnectionClosed)
  );
}

function inWords(error: unknown, url: string): unknown {
  if (error instanceof HubError || error instanceof ProtocolError) return error;
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)
    return new HubError("timeout", `The hub at ${url} did not answer in time.`, { cause: error });
  if (error instanceof SyntaxError || (error instanceof Error && error.name === "ZodError"))
    return new HubError("not_a_hub", notAHub(url, "not JSON as MCP has it"), { cause: error });
  return new HubError("unreachable", `The hub at ${url} failed: ${causeOf(error)}.`, {
    cause: error,
  });
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
      if (init?.signal?.aborted) throw error;
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
