/** Requests of the 2026-07-28 era by a client that knows tasks: the SDK's own does not. */
const TASKS = { "io.modelcontextprotocol/tasks": {} };
let requests = 0;

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
      id: ++requests,
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

/** The result; an error is thrown, with its code. */
export async function rpc(...asked: Parameters<typeof post>): Promise<Record<string, unknown>> {
  const { result, error } = (await (await post(...asked)).json()) as Record<string, Params>;
  if (error) throw Object.assign(new Error(String(error.message)), error);
  return result ?? {};
}

export const callAsTask = (url: string, token: string, name: string, args = {}) =>
  rpc(url, token, "tools/call", { name, arguments: args });
