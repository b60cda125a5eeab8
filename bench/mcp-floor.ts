/**
 * The least that the MCP SDK can do with a call: one tool, an empty result. Served as the hub serves
 * its own, so what the hub takes beyond this is the price of tokens, arguments, reading and telling.
 * Forked by floor-process.ts.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { Hono } from "hono";

const handler = createMcpHandler(() => {
  const server = new Server({ name: "floor", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({
    tools: [{ name: "nothing", inputSchema: { type: "object" } }],
  }));
  server.setRequestHandler("tools/call", () => ({ content: [] }));
  return server;
});
const app = new Hono();
app.all("/mcp", (c) => handler.fetch(c.req.raw));

const server = createServer(getRequestListener(app.fetch));
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
