/** Calls of tools by plain HTTP requests, so that the kit needs no MCP client. */
import { isObject } from "../json.ts";

export interface ToolAnswer {
  isError: boolean;
  /** The error message, or the text of the result. */
  text: string;
  /** The structured result, or the text parsed as JSON. */
  result: Record<string, unknown>;
}

export interface McpCalls {
  listTools(): Promise<{ name: string; inputSchema: Record<string, unknown> }[]>;
  callTool(name: string, args: object, headers?: Record<string, string>): Promise<ToolAnswer>;
}

const TIMEOUT_MS = 30_000;
const LEGACY = "2025-06-18";
const MODERN = "2026-07-28";
const clientInfo = { name: "testTriggers", version: "1.0.0" };

export async function openMcpCalls(
  url: string,
  headers: Record<string, string>,
): Promise<McpCalls> {
  let nextId = 1;
  let session: Record<string, string> = {};
  let isModern = false;

  async function post(message: object, extra: Record<string, string> = {}): Promise<Response> {
    return fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
        ...session,
        ...extra,
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  }

  /** Returns the result, or throws the error of the protocol. */
  async function request(method: string, params: object, extra?: Record<string, string>) {
    const id = nextId++;
    const response = isModern
      ? await post(
          { id, method, params: { ...params, _meta: META } },
          { ...route(method, params), ...extra },
        )
      : await post({ id, method, params }, extra);
    const text = await response.text();
    const answer = messagesOf(text).find((message) => message.id === id);
    if (isObject(answer?.result)) return { response, result: answer.result };
    const error = isObject(answer?.error) ? answer.error.message : text.slice(0, 300);
    throw new Error(`${method} failed (HTTP ${response.status}): ${error}`);
  }

  try {
    const { response } = await request("initialize", {
      protocolVersion: LEGACY,
      capabilities: {},
      clientInfo,
    });
    const id = response.headers.get("mcp-session-id");
    session = { "mcp-protocol-version": LEGACY, ...(id === null ? {} : { "mcp-session-id": id }) };
    await (await post({ method: "notifications/initialized" })).body?.cancel();
  } catch (error) {
    // A server may support only the stateless protocol.
    isModern = true;
    session = { "mcp-protocol-version": MODERN };
    await request("tools/list", {}).catch(() => {
      throw error;
    });
  }

  return {
    async listTools() {
      const { result } = await request("tools/list", {});
      return (Array.isArray(result.tools) ? result.tools : []).filter(isObject).map((tool) => ({
        name: String(tool.name),
        inputSchema: isObject(tool.inputSchema) ? tool.inputSchema : {},
      }));
    },

    async callTool(name, args, extra) {
      try {
        const { result } = await request("tools/call", { name, arguments: args }, extra);
        const text = textOf(result.content);
        return {
          isError: result.isError === true,
          text,
          result: isObject(result.structuredContent) ? result.structuredContent : parseObject(text),
        };
      } catch (error) {
        return { isError: true, text: (error as Error).message, result: {} };
      }
    },
  };
}

/** What replaces `initialize` in the stateless protocol. */
const META = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientInfo": clientInfo,
  "io.modelcontextprotocol/clientCapabilities": {},
};
const route = (method: string, params: object): Record<string, string> => ({
  "mcp-method": method,
  ...("name" in params ? { "mcp-name": String(params.name) } : {}),
});

/** The messages of a JSON body or of an SSE stream. */
function messagesOf(text: string): Record<string, unknown>[] {
  const events = text
    .split(/\r?\n\r?\n/)
    .map((event) =>
      event
        .split(/\r?\n/)
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5))
        .join("\n"),
    )
    .filter((data) => data.trim() !== "");
  return (events.length > 0 ? events : [text]).map(parseObject);
}

const textOf = (content: unknown): string =>
  (Array.isArray(content) ? content : [])
    .map((block) => (isObject(block) && typeof block.text === "string" ? block.text : ""))
    .join("");

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
