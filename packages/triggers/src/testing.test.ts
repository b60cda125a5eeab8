/** Tests that `testTriggers` passes a server of this SDK, and finds the defects of other servers. */
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

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanups.splice(0).reverse()) await cleanUp();
});

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
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

const quickOptions = { quietMs: 200, print: () => {} };

it.each([
  ["with both protocols", {}],
  ["with responses as SSE", { responseMode: "sse" as const }],
  ["with the stateless protocol only", { legacy: "reject" as const }],
])("reports no defects of a server of this SDK %s", async (_, handlerOptions) => {
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
  cleanups.push(() => triggers.close());
  const url = await serve((server) => {
    for (const { name, config, handler } of triggers.tools())
      server.registerTool(name, config, handler);
  }, handlerOptions);
  const lines: string[] = [];
  const report = await testTriggers(url, {
    ...quickOptions,
    fire: ({ connectionId, params }) => void triggers.notify(connectionId, "issue", params),
    print: (line) => lines.push(line),
  });
  expect(report.checks.filter(({ status }) => status !== "passed")).toEqual([]);
  expect(report.ok).toBe(true);
  expect(lines.at(-1)).toBe(`${report.checks.length} passed, 0 failed, 0 skipped`);
  expect(lines).toContain("✓ repeats a failed callback with the same id");

  const withoutFire = await testTriggers(url, quickOptions);
  expect(withoutFire.ok).toBe(true);
  expect(withoutFire.checks).toContainEqual({
    name: "sends no more events after the receiver has returned 410",
    status: "skipped",
    message: "pass `fire` to check callbacks",
  });
});

/**
 * Starts a server with defects that were found in real servers. It has one credential per connection,
 * which it deletes when any type is disabled. It neither parses params nor filters events by them. It
 * sends each callback once and without an id.
 */
async function startDefectiveServer() {
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
    const credential = credentials.get(connectionId);
    if (!credential) return;
    void fetch(credential.url, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${credential.token}` },
      body: JSON.stringify({ type, data }),
    });
  };
  return { url, notify };
}

it("reports the defects of a server", async () => {
  const { url, notify } = await startDefectiveServer();
  const report = await testTriggers(url, {
    print: () => {},
    waitMs: 2000,
    quietMs: 1500,
    params: { level: "low" },
    fire: ({ connectionId, type, params }) => notify(connectionId, type, params),
  });
  const namesWith = (status: string) =>
    report.checks.filter((check) => check.status === status).map(({ name }) => name);
  expect(report.ok).toBe(false);
  expect(namesWith("failed")).toEqual([
    "accepts subscriptionId, so that a client can have several subscriptions of a type",
    "rejects an unknown trigger type",
    "rejects invalid params, and names the field",
    "sends an event with token, type, data and id",
    "does not send events that do not match the params",
    "does not send events of a type without subscription",
    "keeps the subscriptions of other types when one type is disabled",
    "repeats a failed callback with the same id",
    "keeps an event after 401 until a valid token arrives",
    "sends no more events after the receiver has returned 410",
  ]);
  expect(namesWith("skipped")).toEqual([
    "accepts numbers and booleans as strings",
    "keeps a subscription when another one of the same type is disabled",
  ]);
});

it("fails with the likely cause, and ends, if `fire` never resolves", async () => {
  const triggers = createTriggers({ definitions: [{ type: "push", description: "A push." }] });
  cleanups.push(() => triggers.close());
  const url = await serve((server) => {
    for (const { name, config, handler } of triggers.tools())
      server.registerTool(name, config, handler);
  });
  const options = { print: () => {}, waitMs: 20, quietMs: 20 };
  const messageOf = async (fire: () => unknown) => {
    const { ok, checks } = await testTriggers(url, { ...options, fire });
    expect(ok).toBe(false);
    return checks.find(({ name }) => name === "sends an event with token, type, data and id")
      ?.message;
  };
  const endless = () => new Promise(() => {});
  expect(await messageOf(endless)).toMatch(
    /^the promise of `fire` did not resolve within 0\.02 s, and no callback arrived: .* unable to reach http:\/\/127\.0\.0\.1:\d+\/callback/,
  );
  expect(await messageOf(() => {})).toBe("callback 1 did not arrive within 0.02 s");
  const failing = async () => {
    throw new Error("HTTP 500");
  };
  expect(await messageOf(failing)).toBe("fire failed: HTTP 500");
});

it("fails for a URL without an MCP server, and for a server without triggers", async () => {
  const pageUrl = await listen(createServer((_, response) => response.end("Hello")));
  expect(await testTriggers(pageUrl, quickOptions)).toMatchObject({
    ok: false,
    checks: [{ name: "responds to MCP requests", message: expect.stringContaining("Hello") }],
  });
  const serverWithoutTriggers = await serve((server) => {
    server.registerTool("other", { inputSchema: z.object({}) }, async () => ({ content: [] }));
  });
  const report = await testTriggers(serverWithoutTriggers, quickOptions);
  expect(report.checks.slice(0, 2)).toMatchObject([
    { status: "failed", message: "the tool TRIGGER_LIST is missing" },
    { status: "failed", message: expect.stringContaining("TRIGGER_LIST failed") },
  ]);
});
