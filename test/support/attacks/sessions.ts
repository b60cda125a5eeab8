/** Opens and uses MCP sessions, which clients open with `initialize` and which last until the hub ends them. */
const post = (url: string, token: string, message: object, session?: string) =>
  fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(session !== undefined && { "mcp-session-id": session }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
  });

export interface OpenedSession {
  status: number;
  /** Null if the hub has opened no session. */
  id: string | null;
}

export async function openSession(url: string, token: string): Promise<OpenedSession> {
  const response = await post(url, token, {
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "x", version: "1" },
    },
  });
  await response.text();
  return { status: response.status, id: response.headers.get("mcp-session-id") };
}

/** Returns the status of a request in the session: 404 if the hub has ended the session. */
export async function useSession(url: string, token: string, id: string): Promise<number> {
  const response = await post(url, token, { method: "tools/list" }, id);
  await response.text();
  return response.status;
}
