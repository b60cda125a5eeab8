/** The MCP server `https://weather.example/mcp` of the documentation, on the loopback address. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { createTriggers } from "@signalbox/triggers";
import { z } from "zod";

const TOOLS = ["weather", "forecast", "alerts", "tides", "pollen", "sunrise", "sunset", "moon"];
const MORE_TOOLS = ["get_air", "find_station"];

export async function startWeatherServer() {
  /** The arguments of the calls of TRIGGER_CONFIGURE. */
  const configured: Record<string, unknown>[] = [];
  const place = z.object({ city: z.string(), millimetres: z.number().optional() }).partial();
  const triggers = createTriggers({
    definitions: ["weather.rain", "weather.sun", "weather.storm"].map((type) => ({
      type,
      description: `Reports ${type}.`,
      params: place,
    })),
  });
  const { fetch } = createMcpHandler(() => {
    const server = new McpServer({ name: "weather", version: "1.0.0" });
    for (const { name, config, handler } of triggers.tools())
      server.registerTool(name, config, (input, context) => {
        if (name === "TRIGGER_CONFIGURE") configured.push(input);
        return handler(input, context);
      });
    for (const name of [...TOOLS.map((tool) => `get_${tool}`), ...MORE_TOOLS])
      server.registerTool(name, { description: name }, () => ({ content: [] }));
    return server;
  });
  const server = createServer(
    getRequestListener((request) => authorizationServer(request) ?? fetch(request)),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    configured,
    async close() {
      await triggers.close();
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Answers the requests of OAuth client credentials. The MCP server itself accepts any token. */
function authorizationServer(request: Request): Response | undefined {
  const { origin, pathname } = new URL(request.url);
  if (pathname.startsWith("/.well-known/oauth-protected-resource"))
    return Response.json({ resource: `${origin}/mcp`, authorization_servers: [origin] });
  if (pathname === "/.well-known/oauth-authorization-server")
    return Response.json({
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
    });
  if (pathname === "/token")
    return Response.json({ access_token: "for-the-hub", token_type: "Bearer", expires_in: 3600 });
  return undefined;
}
