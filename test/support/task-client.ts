/** Sends MCP requests of version 2026-07-28 with the tasks extension, which the client of the SDK does not support. */
const TASKS = { "io.modelcontextprotocol/tasks": {} };
let requestId = 0;

type Params = Record<string, unknown>;

export function post(
  url: string,
  token: string,
  method: string,
  params: Params,
  extensions: object = TASKS,
): Promise<Response> {
  const name = params.taskId ?? params.name;
  return fetch(url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(name !== undefined && { "mcp-name": String(name) }),
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: ++requestId,
      method,
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "story", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": { extensions },
        },
      },
    }),
  });
}

/** Returns the result, or throws the JSON-RPC error with its code. */
export async function rpc(...args: Parameters<typeof post>): Promise<Record<string, unknown>> {
  const { result, error } = (await (await post(...args)).json()) as Record<string, Params>;
  if (error) throw Object.assign(new Error(String(error.message)), error);
  return result ?? {};
}

export const callAsTask = (url: string, token: string, name: string, args = {}) =>
  rpc(url, token, "tools/call", { name, arguments: args });
