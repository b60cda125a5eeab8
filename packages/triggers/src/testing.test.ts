/** The contract kit passes the SDK, and finds the defects of servers in the field. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import {
  type CreateMcpHandlerOptions,
  createMcpHandler,
  McpServer,
} from "@modelcontextprotocol/server";
import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { connectionIdOf } from "./connection-id.ts";
import { createTriggers } from "./index.ts";
import { quickRetries } from "./test-support.ts";
import { testTriggers } from "./testing.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

const serve = (
  register: (server: McpServer) => void,
  options?: CreateMcpHandlerOptions,
): Promise<string> => {
  const { fetch } = createMcpHandler(() => {
    const server = new McpServer({ name: "test", version: "1.0.0" });
    register(server);
    return server;
  }, options);
  return listen(createServer(getRequestListener((request) => fetch(request))));
};

const quick = { quietMs: 200, print: () => {} };

it.each([
  ["of both protocols", {}],
  ["that answers with SSE", { responseMode: "sse" as const }],
  ["of the stateless protocol only", { legacy: "reject" as const }],
])("passes a server of this SDK, %s", async (_, handlerOptions) => {
  const triggers = createTriggers({
    definitions: [
      {
        type: "issue",
        description: "A new issue.",
        params: z.object({ repo: z.string(), number: z.number().optional() }),
      },
      { type: "push", description: "A push." },
    ],
    ...quickRetries,
  });
  closing.push(() => triggers.close());
  const url = await serve((server) => {
    for (const { name, config, handler } of triggers.tools())
      server.registerTool(name, config, handler);
  }, handlerOptions);
  const lines: string[] = [];
  const report = await testTriggers(url, {
    ...quick,
    fire: ({ connectionId, params }) => void triggers.notify(connectionId, "issue", params),
    print: (line) => lines.push(line),
  });
  expect(report.checks.filter(({ status }) => status !== "passed")).toEqual([]);
  expect(report.ok).toBe(true);
  expect(lines.at(-1)).toBe(`${report.checks.length} passed, 0 failed, 0 skipped`);
  expect(lines).toContain("✓ repeats a failed callback with the same id");

  const withoutFire = await testTriggers(url, quick);
  expect(withoutFire.ok).toBe(true);
  expect(withoutFire.checks).toContainEqual({
    name: "stops after 410",
    status: "skipped",
    message: "pass `fire` to check callbacks",
  });
});

/**
 * A server as in the field: one credential per connection, types forgotten with the first disable,
 * params not parsed, callbacks not filtered, without id, and sent once.
 */
async function startFieldServer() {
  const credentials = new Map<string, { url: string; token: string }>();
  const url = await serve((server) => {
    server.registerTool(
      "TRIGGER_LIST",
      { inputSchema: z.object({}), outputSchema: z.looseObject({}) },
      async () => {
        const paramsSchema = { level: { type: "string", enum: ["low", "high"] } };
        const triggers = [
          { type: "issue", description: "A new issue.", paramsSchema },
          { type: "push", description: "A push.", paramsSchema: {} },
        ];
        return { content: [], structuredContent: { triggers } };
      },
    );
    server.registerTool(
      "TRIGGER_CONFIGURE",
      {
        inputSchema: z.object({
          type: z.string(),
          params: z.record(z.string(), z.string()),
          enabled: z.boolean(),
          callbackUrl: z.url().optional(),
          callbackToken: z.string().min(1).optional(),
        }),
        outputSchema: z.looseObject({}),
      },
      async ({ enabled, callbackUrl, callbackToken }, context) => {
        const connectionId = connectionIdOf(context);
        if (!connectionId) throw new Error("Connection ID not available");
        if (!enabled) credentials.delete(connectionId);
        else if (callbackUrl && callbackToken)
          credentials.set(connectionId, { url: callbackUrl, token: callbackToken });
        return { content: [], structuredContent: { success: true } };
      },
    );
  });
  const notify = (connectionId: string, type: string, data: object) => {
    const found = credentials.get(connectionId);
    if (!found) return;
    void fetch(found.url, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${found.token}` },
      body: JSON.stringify({ type, data }),
    });
  };
  return { url, notify };
}

it("finds the defects of a server in the field", async () => {
  const { url, notify } = await startFieldServer();
  const report = await testTriggers(url, {
    print: () => {},
    waitMs: 2000,
    quietMs: 1500,
    params: { level: "low" },
    fire: ({ connectionId, type, params }) => notify(connectionId, type, params),
  });
  const names = (status: string) =>
    report.checks.filter((check) => check.status === status).map(({ name }) => name);
  expect(report.ok).toBe(false);
  expect(names("failed")).toEqual([
    "accepts subscriptionId, so that a client can have several subscriptions of a type",
    "rejects an unknown trigger type",
    "rejects wrong params, and names the field",
    "sends an event with token, type, data and id",
    "does not send events that do not match the params",
    "does not send types that were not subscribed",
    "disabling one type leaves the others",
    "repeats a failed callback with the same id",
    "keeps an event after 401 until a valid token arrives",
    "stops after 410",
  ]);
  expect(names("skipped")).toEqual([
    "accepts numbers and booleans as strings",
    "disabling one of two triggers of a type leaves the other",
  ]);
});

it("reports an address without an MCP server, and a server without triggers", async () => {
  const page = await listen(createServer((_, response) => response.end("Hello")));
  expect(await testTriggers(page, quick)).toMatchObject({
    ok: false,
    checks: [{ name: "answers MCP requests", message: expect.stringContaining("Hello") }],
  });
  const empty = await serve((server) => {
    server.registerTool("other", { inputSchema: z.object({}) }, async () => ({ content: [] }));
  });
  const report = await testTriggers(empty, quick);
  expect(report.checks.slice(0, 2)).toMatchObject([
    { status: "failed", message: "the tool TRIGGER_LIST is missing" },
    { status: "failed", message: expect.stringContaining("TRIGGER_LIST failed") },
  ]);
});
