/** Sends HTTP and MCP requests to the hub under test. */

/** A hub on any host. The walk uses only its HTTP interface. */
export interface HubUnderTest {
  url: string;
  /** A token for all tenants, with the scope `admin`. */
  admin: string;
  /** The value of GITHUB_WEBHOOK_SECRET. */
  githubSecret: string;
}

export interface HubRequest {
  method: string;
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface HubResponse {
  status: number;
  headers: Headers;
  text: string;
}

/** A token, or the headers with which a browser sends its session. */
export type Credential = string | Record<string, string>;

export const headersOf = (credential: Credential): Record<string, string> =>
  typeof credential === "string" ? { authorization: `Bearer ${credential}` } : credential;

export async function send(
  { url }: Pick<HubUnderTest, "url">,
  credential: Credential,
  { method, path, body, headers }: HubRequest,
): Promise<HubResponse> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...headersOf(credential),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    redirect: "manual",
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Sends a request, and returns the JSON of the response. Throws if the status is not 2xx. */
export async function requestJson<Result>(
  hub: Pick<HubUnderTest, "url">,
  credential: Credential,
  request: HubRequest,
): Promise<Result> {
  const { status, text } = await send(hub, credential, request);
  if (status >= 300) throw new Error(`${request.method} ${request.path}: ${status} ${text}`);
  return (text === "" ? undefined : JSON.parse(text)) as Result;
}

/** Creates a JSON-RPC request to an MCP server of the hub. */
export const rpcRequest = (
  path: string,
  method: string,
  params: object = {},
  headers: Record<string, string> = {},
): HubRequest => ({
  method: "POST",
  path,
  headers: { accept: "application/json, text/event-stream", ...headers },
  body: { jsonrpc: "2.0", id: 1, method, params },
});

/** Creates a JSON-RPC request of protocol version 2026-07-28 with the tasks extension. */
export const taskRpcRequest = (
  path: string,
  method: string,
  params: { taskId: string } | { name: string; arguments: object },
): HubRequest =>
  rpcRequest(
    path,
    method,
    {
      ...params,
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "walk", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": {
          extensions: { "io.modelcontextprotocol/tasks": {} },
        },
      },
    },
    {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      "mcp-name": "taskId" in params ? params.taskId : params.name,
    },
  );

/** Returns whether the response to a request for `path` is an error. MCP servers report errors with status 200. */
export const isError = (path: string, { status, text }: HubResponse): boolean =>
  status >= 400 || (path.startsWith("/mcp") && /"isError":true|"error":\{"code"/.test(text));

/** Returns the result of an MCP response, which is JSON or an SSE stream with one message. */
export function readRpcResult<Result>({ text }: HubResponse): Result {
  const data = text.match(/^data: (\{.*"result".*)$/m)?.[1] ?? text;
  const { result } = JSON.parse(data) as { result?: Result };
  if (result === undefined) throw new Error(`the response has no JSON-RPC result: ${text}`);
  return result;
}
