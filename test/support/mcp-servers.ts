/** MCP servers on the loopback address, as they are in the field. */
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

type Reply = Record<string, unknown>;

/** What a tool answers, given its arguments and the `_meta` of the request. */
export type Tools = Record<
  string,
  (
    given: Reply,
    call: { meta: Reply; signal: AbortSignal; progress(done: number): Promise<void> },
  ) => unknown
>;

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

const listed = (tools: Tools, described: ListedTool[]) =>
  Object.keys(tools).map((name) => ({
    name,
    inputSchema: { type: "object" as const },
    ...described.find((tool) => tool.name === name),
  })) as { name: string; inputSchema: { type: "object" } }[];

const toResult = (value: unknown) =>
  (typeof value === "object" && value !== null && "content" in value
    ? value
    : {
        content: [{ type: "text", text: JSON.stringify(value) }],
        structuredContent: value,
      }) as { content: [] };

/** A server of the SDK's version 2: stateless, and `initialize` for older clients. */
export async function serveSdk2(
  tools: Tools,
  { described = [] as ListedTool[], capabilities = { tools: {} } as object } = {},
) {
  const requests: { method: string; headers: Headers }[] = [];
  const handler: McpHttpHandler = createMcpHandler(() => {
    const server = new Server({ name: "sdk2", version: "2" }, { capabilities });
    server.setRequestHandler("tools/list", () => ({ tools: listed(tools, described) }));
    server.setRequestHandler("tools/call", async ({ params }, context) => {
      const { _meta: meta = {} } = params;
      const value = await tools[params.name]?.(params.arguments ?? {}, {
        meta: meta as Reply,
        signal: context.mcpReq.signal,
        progress: async (done) => {
          const progressToken = (context.mcpReq._meta as Reply | undefined)
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
  const served = await listen(
    getRequestListener((request) => {
      requests.push({ method: request.method, headers: request.headers });
      return handler.fetch(request);
    }),
  );
  return { ...served, requests, handler };
}

/** A server of the SDK's version 1, with sessions. `forget` ends all of them, like a restart. */
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
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed(tools, []) }));
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
  const served = await listen(async (request, response) => {
    requests.push({ method: request.method, headers: request.headers });
    const id = request.headers["mcp-session-id"];
    const known = typeof id === "string" ? sessions.get(id)?.transport : undefined;
    const body: unknown = request.method === "POST" ? JSON.parse(await text(request)) : undefined;
    if (known) return known.handleRequest(request, response, body);
    if (isInitializeRequest(body))
      return (await openSession()).handleRequest(request, response, body);
    const error = { code: -32_000, message: id ? "Session not found" : "No session" };
    response
      .writeHead(id ? 404 : 400, { "content-type": "application/json" })
      .end(JSON.stringify({ jsonrpc: "2.0", error, id: null }));
  });
  return { ...served, sessions, requests };
}

interface RawRequest {
  id: number | string | undefined;
  method: string;
  params: Reply;
  http: IncomingMessage;
}

/**
 * A hand-written server: answers POST with SSE, keeps no session, works without `initialize`, and
 * answers GET with 405. `answer` returns a result, or writes the response itself.
 */
export async function serveRaw(
  answer: (request: RawRequest, response: ServerResponse) => unknown,
  { capabilities = { tools: {} } as object } = {},
) {
  const requests: RawRequest[] = [];
  const served = await listen(async (http, response) => {
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
  return { ...served, requests };
}
