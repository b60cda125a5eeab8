/** A small MCP server with one tool, on the loopback address. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

const DEGREES: Record<string, number> = { Bern: 4, Lisbon: 24 };

export async function startWeatherServer() {
  const { fetch } = createMcpHandler(() => {
    const server = new McpServer({ name: "weather", version: "1.0.0" });
    server.registerTool(
      "get_weather",
      {
        description: "Returns the weather in a city.",
        inputSchema: z.object({ city: z.string() }),
        outputSchema: z.object({ degrees: z.number() }),
      },
      async ({ city }) => {
        const degrees = DEGREES[city];
        if (degrees === undefined)
          return { isError: true, content: [{ type: "text", text: `There is no city ${city}.` }] };
        return {
          content: [{ type: "text", text: `It is ${degrees} °C in ${city}.` }],
          structuredContent: { degrees },
        };
      },
    );
    return server;
  });
  const server = createServer(getRequestListener((request) => fetch(request)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
