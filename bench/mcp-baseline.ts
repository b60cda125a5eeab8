/**
 * The minimal MCP server: the SDK with one tool and an empty result, behind the same HTTP adapter as
 * the hub. The hub's additional cost is tokens, arguments, reads and serialization.
 * Forked by baseline-process.ts.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { Hono } from "hono";

const handler = createMcpHandler(() => {
  const server = new Server({ name: "baseline", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({
    tools: [{ name: "empty", inputSchema: { type: "object" } }],
  }));
  server.setRequestHandler("tools/call", () => ({ content: [] }));
  return server;
});
const app = new Hono();
app.all("/mcp", (c) => handler.fetch(c.req.raw));

const server = createServer(getRequestListener(app.fetch));
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
