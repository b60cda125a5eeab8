/** Starts MCP servers on the loopback address: with SDK version 2, with SDK version 1, and without an SDK. */
import { randomUUID } from "node:crypto";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { getRequestListener } from "@hono/node-server";
import { Server as Sdk1Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport as Sdk1Transport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  CallToolRequestSchema,
  isInitializeRequest,
  ListToolsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { createMcpHandler, type McpHttpHandler, Server } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";

type JsonObject = Record<string, unknown>;

/** Tools by name. Each returns its result for the arguments and the context of a call. */
export type Tools = Record<
  string,
  (
    args: JsonObject,
    call: { meta: JsonObject; signal: AbortSignal; progress(done: number): Promise<void> },
  ) => unknown
>;

/** A tool in the response to `tools/list`. */
export interface ListedTool {
  name: string;
  inputSchema?: object;
  [field: string]: unknown;
}

/** Starts a server and closes it after the test. */
export async function listen(
  listener: RequestListener,
): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  onTestFinished(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, close };
}

const listTools = (tools: Tools, definitions: ListedTool[]) =>
  Object.keys(tools).map((name) => ({
    name,
    inputSchema: { type: "object" as const },
    ...definitions.find((tool) => tool.name === name),
  })) as { name: string; inputSchema: { type: "object" } }[];

const toResult = (value: unknown) =>
  (typeof value === "object" && value !== null && "content" in value
    ? value
    : {
        content: [{ type: "text", text: JSON.stringify(value) }],
        structuredContent: value,
      }) as { content: [] };

/** A server of SDK version 2. It is stateless, and supports `initialize` for clients of earlier versions. */
export async function serveSdk2(
  tools: Tools,
  { definitions = [] as ListedTool[], capabilities = { tools: {} } as object } = {},
) {
  const requests: { method: string; headers: Headers }[] = [];
  const handler: McpHttpHandler = createMcpHandler(() => {
    const server = new Server({ name: "sdk2", version: "2" }, { capabilities });
    server.setRequestHandler("tools/list", () => ({ tools: listTools(tools, definitions) }));
    server.setRequestHandler("tools/call", async ({ params }, context) => {
      const { _meta: meta = {} } = params;
      const value = await tools[params.name]?.(params.arguments ?? {}, {
        meta: meta as JsonObject,
        signal: context.mcpReq.signal,
        progress: async (done) => {
          const progressToken = (context.mcpReq._meta as JsonObject | undefined)
            ?.progressToken as string;
          await context.mcpReq.notify({
            method: "notifications/progress",
            params: { progressToken, progress: done, total: 2, message: `step ${done}` },
          });
        },
      });
      return toResult(value);
    });
    return server;
  });
  const listening = await listen(
    getRequestListener((request) => {
      requests.push({ method: request.method, headers: request.headers });
      return handler.fetch(request);
    }),
  );
  return { ...listening, requests, handler };
}

/** A server of SDK version 1, with sessions. A test that clears `sessions` ends all of them, like a restart. */
export async function serveSdk1(tools: Tools, { listChanged = false } = {}) {
  const sessions = new Map<string, { transport: Sdk1Transport; server: Sdk1Server }>();
  const requests: { method: string | undefined; headers: IncomingMessage["headers"] }[] = [];
  const openSession = async () => {
    const transport = new Sdk1Transport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, { transport, server }),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    const server = new Sdk1Server(
      { name: "sdk1", version: "1" },
      { capabilities: { tools: listChanged ? { listChanged } : {} } },
    );
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listTools(tools, []) }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, context) =>
      toResult(
        await tools[params.name]?.(params.arguments ?? {}, {
          meta: params._meta ?? {},
          signal: context.signal,
          progress: (done) =>
            context.sendNotification({
              method: "notifications/progress",
              params: {
                progressToken: params._meta?.progressToken ?? "",
                progress: done,
                total: 2,
                message: `step ${done}`,
              },
            }),
        }),
      ),
    );
    await server.connect(transport);
    return transport;
  };
  const listening = await listen(async (request, response) => {
    requests.push({ method: request.method, headers: request.headers });
    const id = request.headers["mcp-session-id"];
    const transport = typeof id === "string" ? sessions.get(id)?.transport : undefined;
    const body: unknown = request.method === "POST" ? JSON.parse(await text(request)) : undefined;
    if (transport) return transport.handleRequest(request, response, body);
    if (isInitializeRequest(body))
      return (await openSession()).handleRequest(request, response, body);
    const error = { code: -32_000, message: id ? "Session not found" : "No session" };
    response
      .writeHead(id ? 404 : 400, { "content-type": "application/json" })
      .end(JSON.stringify({ jsonrpc: "2.0", error, id: null }));
  });
  return { ...listening, sessions, requests };
}

interface RawRequest {
  id: number | string | undefined;
  method: string;
  params: JsonObject;
  http: IncomingMessage;
}

/**
 * A server without an SDK: it responds to POST with SSE and to GET with 405, has no sessions, and works
 * without `initialize`. `answer` returns the result of a request, or writes the response itself.
 */
export async function serveRaw(
  answer: (request: RawRequest, response: ServerResponse) => unknown,
  { capabilities = { tools: {} } as object } = {},
) {
  const requests: RawRequest[] = [];
  const listening = await listen(async (http, response) => {
    if (http.method !== "POST") return response.writeHead(405).end();
    const { id, method, params = {} } = JSON.parse(await text(http));
    const request = { id, method, params, http };
    requests.push(request);
    const send = (message: object) =>
      response
        .writeHead(200, { "content-type": "text/event-stream" })
        .end(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, ...message })}\n\n`);
    if (id === undefined) return response.writeHead(202).end();
    if (method === "server/discover")
      return send({ error: { code: -32_601, message: "Method not found" } });
    if (method === "initialize")
      return send({
        result: {
          protocolVersion: params.protocolVersion,
          capabilities,
          serverInfo: { name: "raw", version: "0" },
        },
      });
    const result = await answer(request, response);
    if (!response.headersSent && result !== undefined) send({ result });
  });
  return { ...listening, requests };
}
