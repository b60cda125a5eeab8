/** A hub under test, on any host, and its HTTP and MCP requests. */

/** The host only has to serve HTTP: Node and workerd are walked by the same code. */
export interface WalkedHub {
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

/** A token, or the headers of a session. */
export type Credential = string | Record<string, string>;

export const headersOf = (credential: Credential): Record<string, string> =>
  typeof credential === "string" ? { authorization: `Bearer ${credential}` } : credential;

export async function send(
  { url }: Pick<WalkedHub, "url">,
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

/** Like `send`, for the preparation of a walk: returns the JSON of a response with a 2xx status. */
export async function get<Result>(
  hub: Pick<WalkedHub, "url">,
  credential: Credential,
  request: HubRequest,
): Promise<Result> {
  const { status, text } = await send(hub, credential, request);
  if (status >= 300) throw new Error(`${request.method} ${request.path}: ${status} ${text}`);
  return (text === "" ? undefined : JSON.parse(text)) as Result;
}

/** A JSON-RPC request to an MCP server of the hub. */
export const rpc = (
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

/** A request of the version 2026-07-28 with the tasks extension. */
export const taskRpc = (
  path: string,
  method: string,
  params: { taskId: string } | { name: string; arguments: object },
): HubRequest =>
  rpc(
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

/** Whether a response to a request of this path is an error. MCP servers report errors with the status 200. */
export const isFailed = (path: string, { status, text }: HubResponse): boolean =>
  status >= 400 || (path.startsWith("/mcp") && /"isError":true|"error":\{"code"/.test(text));

/** The result in a response of an MCP server, which is JSON or a stream with one message. */
export function rpcResult<Result>({ text }: HubResponse): Result {
  const data = text.match(/^data: (\{.*"result".*)$/m)?.[1] ?? text;
  const { result } = JSON.parse(data) as { result?: Result };
  if (result === undefined) throw new Error(`no result: ${text}`);
  return result;
}
