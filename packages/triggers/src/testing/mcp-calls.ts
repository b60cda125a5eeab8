/** Calls tools with plain HTTP requests, so that `testTriggers` needs no MCP client library. */
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
/** A protocol version in which a session begins with `initialize`. */
const STATEFUL_VERSION = "2025-06-18";
/** A version in which each request describes its client. */
const STATELESS_VERSION = "2026-07-28";
const clientInfo = { name: "testTriggers", version: "1.0.0" };

export async function openMcpCalls(
  url: string,
  headers: Record<string, string>,
): Promise<McpCalls> {
  let nextId = 1;
  let sessionHeaders: Record<string, string> = {};
  let isStateless = false;

  async function post(
    message: object,
    extraHeaders: Record<string, string> = {},
  ): Promise<Response> {
    return fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
        ...sessionHeaders,
        ...extraHeaders,
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  }

  async function exchange(
    id: number,
    method: string,
    params: object,
    extraHeaders?: Record<string, string>,
  ) {
    const response = isStateless
      ? await post(
          { id, method, params: { ...params, _meta: META } },
          { ...routingHeaders(method, params), ...extraHeaders },
        )
      : await post({ id, method, params }, extraHeaders);
    return { response, text: await response.text() };
  }

  /** Throws if the response is an error of the protocol. */
  async function request(method: string, params: object, extraHeaders?: Record<string, string>) {
    const id = nextId++;
    const { response, text } = await exchange(id, method, params, extraHeaders).catch((error) => {
      if (error.name !== "TimeoutError") throw error;
      throw new Error(
        `the server did not complete its response to ${method} within ${TIMEOUT_MS / 1000} s`,
        { cause: error },
      );
    });
    const answer = parseMessages(text).find((message) => message.id === id);
    if (isObject(answer?.result)) return { response, result: answer.result };
    const error = isObject(answer?.error) ? answer.error.message : text.slice(0, 300);
    throw new Error(`${method} failed (HTTP ${response.status}): ${error}`);
  }

  try {
    const { response } = await request("initialize", {
      protocolVersion: STATEFUL_VERSION,
      capabilities: {},
      clientInfo,
    });
    const id = response.headers.get("mcp-session-id");
    sessionHeaders = {
      "mcp-protocol-version": STATEFUL_VERSION,
      ...(id === null ? {} : { "mcp-session-id": id }),
    };
    await (await post({ method: "notifications/initialized" })).body?.cancel();
  } catch (error) {
    // A server may support only the stateless protocol. If that fails too, the first error is thrown.
    isStateless = true;
    sessionHeaders = { "mcp-protocol-version": STATELESS_VERSION };
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

    async callTool(name, args, extraHeaders) {
      try {
        const { result } = await request("tools/call", { name, arguments: args }, extraHeaders);
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

/** In the stateless protocol, every request contains what `initialize` sends otherwise. */
const META = {
  "io.modelcontextprotocol/protocolVersion": STATELESS_VERSION,
  "io.modelcontextprotocol/clientInfo": clientInfo,
  "io.modelcontextprotocol/clientCapabilities": {},
};
const routingHeaders = (method: string, params: object): Record<string, string> => ({
  "mcp-method": method,
  ...("name" in params ? { "mcp-name": String(params.name) } : {}),
});

/** Parses the messages of a JSON body or of an SSE stream. */
function parseMessages(text: string): Record<string, unknown>[] {
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
