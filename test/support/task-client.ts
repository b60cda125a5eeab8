/** A client of the 2026-07-28 era that knows tasks: the SDK's own does not. */
const TASKS = "io.modelcontextprotocol/tasks";
let requests = 0;
/** A request of the 2026-07-28 era, of a client that knows tasks. */
export async function rpc(
  url: string,
  token: string,
  method: string,
  params: Record<string, unknown>,
  extensions: object = { [TASKS]: {} },
): Promise<Record<string, unknown>> {
  const name = params.taskId ?? params.name;
  const response = await fetch(url, {
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
  const { result, error } = (await response.json()) as Record<string, Record<string, unknown>>;
  if (error) throw Object.assign(new Error(String(error.message)), error);
  return result ?? {};
}
export const callAsTask = (url: string, token: string, name: string, args = {}) =>
  rpc(url, token, "tools/call", { name, arguments: args });
