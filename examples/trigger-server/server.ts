/** An MCP server for the street lamps of a town. Its trigger fires when a lamp breaks. */
import { serve } from "@hono/node-server";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { createTriggers } from "@signalbox/triggers";
import { fileStorage } from "@signalbox/triggers/node";
import { z } from "zod";

export function startLampServer(file: string, onListen: (url: string) => void) {
  const triggers = createTriggers({
    definitions: [
      {
        type: "lamp.broken",
        description: "A lamp is broken.",
        params: z.object({ street: z.string().optional().describe("Only lamps of this street.") }),
        payload: z.object({ street: z.string(), lamp: z.number() }),
        sample: { street: "Main Street", lamp: 7 },
      },
    ],
    storage: fileStorage(file),
  });
  const { fetch } = createMcpHandler(() => {
    const server = new McpServer({ name: "lamps", version: "1.0.0" });
    for (const { name, config, handler } of triggers.tools())
      server.registerTool(name, config, handler);
    return server;
  });
  const http = serve(
    { fetch: (request) => fetch(request), port: 0, hostname: "127.0.0.1" },
    ({ port }) => onListen(`http://127.0.0.1:${port}/mcp`),
  );

  return {
    triggers,
    /** Called by the code that monitors the lamps. */
    async reportBroken(street: string, lamp: number) {
      for (const connection of await triggers.connections("lamp.broken"))
        await triggers.notify(connection, "lamp.broken", { street, lamp });
    },
    async stop() {
      await triggers.close();
      http.close();
    },
  };
}
