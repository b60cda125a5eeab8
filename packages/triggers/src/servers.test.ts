/** Tests the tools with servers and clients of versions 1 and 2 of the MCP SDK. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import {
  Client as Client2,
  StreamableHTTPClientTransport as Transport2,
} from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { McpServer as McpServer1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createMcpHandler, McpServer as McpServer2 } from "@modelcontextprotocol/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createTriggers } from "./index.ts";
import { meshToken } from "./test-support.ts";
import { type CallbackReceiver, openCallbackReceiver } from "./testing/callback-receiver.ts";
import type { TriggerTool } from "./tools.ts";

const info = { name: "test", version: "1.0.0" };
type ListTools = () => TriggerTool[];

const servers = {
  "version 1": (tools: ListTools) =>
    createServer(async (request, response) => {
      const server = new McpServer1(info);
      // In this repository, the types of version 1 use another copy of Zod.
      for (const { name, config, handler } of tools())
        server.registerTool(name, config as object, handler as () => never);
      const transport = new StreamableHTTPServerTransport({});
      await server.connect(transport as Parameters<typeof server.connect>[0]);
      await transport.handleRequest(request, response);
    }),
  "version 2": (tools: ListTools) => {
    const { fetch } = createMcpHandler(() => {
      const server = new McpServer2(info);
      for (const { name, config, handler } of tools()) server.registerTool(name, config, handler);
      return server;
    });
    return createServer(getRequestListener((request) => fetch(request)));
  },
};

interface ToolAnswer {
  isError?: boolean;
  content?: { text?: string }[];
  structuredContent?: object;
}
interface AnyClient {
  listTools(): Promise<{ tools: { name: string; inputSchema: object }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<ToolAnswer>;
  close(): Promise<void>;
}

const clients = {
  "version 1": async (url: URL, headers: Record<string, string>) => {
    const client = new Client1(info);
    const transport = new Transport1(url, { requestInit: { headers } });
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    return client as unknown as AnyClient;
  },
  "version 2": async (url: URL, headers: Record<string, string>) => {
    const client = new Client2(info);
    await client.connect(new Transport2(url, { requestInit: { headers } }));
    return client as unknown as AnyClient;
  },
};

let hub: CallbackReceiver;
const cleanups: (() => unknown)[] = [];
beforeEach(async () => {
  hub = await openCallbackReceiver();
  cleanups.push(() => hub.close());
});
afterEach(async () => {
  for (const cleanUp of cleanups.splice(0).reverse()) await cleanUp();
});

const cases = Object.entries(servers).flatMap(([server, serve]) =>
  Object.entries(clients).map(([client, connect]) => ({ server, serve, client, connect })),
);

describe.each(cases)("with a server of $server and a client of $client", ({ serve, connect }) => {
  async function start() {
    const triggers = createTriggers({
      definitions: [
        {
          type: "issue",
          description: "A new issue.",
          params: z.object({
            repo: z.string().describe("owner/name"),
            number: z.number().optional(),
          }),
          payload: z.object({ repo: z.string(), number: z.number() }),
        },
      ],
    });
    const server = serve(() => triggers.tools());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cleanups.push(() => {
      server.closeAllConnections();
      server.close();
    });
    cleanups.push(() => triggers.close());
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
    const connectClient = async (headers: Record<string, string>) => {
      const client = await connect(url, headers);
      cleanups.push(() => client.close());
      return client;
    };
    return { triggers, connectClient };
  }
  const configureCall = (args: object) => ({
    name: "TRIGGER_CONFIGURE",
    arguments: {
      type: "issue",
      params: { repo: "a/b", number: "7" },
      enabled: true,
      callbackUrl: hub.url,
      callbackToken: "secret",
      ...args,
    },
  });

  it("lists the triggers, subscribes, and gets only the matching event", async () => {
    const { triggers, connectClient } = await start();
    const client = await connectClient({ "x-mesh-token": meshToken({ connectionId: "conn-1" }) });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["TRIGGER_LIST", "TRIGGER_CONFIGURE"]);
    expect(tools[1]?.inputSchema).toMatchObject({
      type: "object",
      properties: { subscriptionId: { type: "string" }, callbackUrl: { format: "uri" } },
    });
    const list = await client.callTool({ name: "TRIGGER_LIST", arguments: {} });
    expect(list.structuredContent).toMatchObject({
      triggers: [
        {
          type: "issue",
          description: "A new issue.",
          paramsSchema: { repo: { type: "string", description: "owner/name" } },
        },
      ],
    });
    expect(JSON.parse(list.content?.[0]?.text ?? "")).toEqual(list.structuredContent);

    const configured = await client.callTool(configureCall({ subscriptionId: "s" }));
    expect(configured).toMatchObject({ structuredContent: { success: true } });
    await triggers.notify("conn-1", "issue", { repo: "a/b", number: 8 });
    await triggers.notify("conn-2", "issue", { repo: "a/b", number: 7 });
    await triggers.notify("conn-1", "issue", { repo: "a/b", number: 7 });
    expect(hub.received).toMatchObject([{ token: "secret", body: { data: { number: 7 } } }]);
  });

  it("returns tool errors for invalid params and for calls without connection id", async () => {
    const { connectClient } = await start();
    const client = await connectClient({
      "x-mesh-token": meshToken({ metadata: { connectionId: "c" } }),
    });
    const rejected = await client.callTool(configureCall({ params: { number: "seven" } }));
    expect(rejected.isError).toBe(true);
    expect(rejected.content?.[0]?.text).toContain("params.repo: ");
    expect(rejected.content?.[0]?.text).toContain("params.number: ");
    for (const headers of [{}, { "x-mesh-token": "no JWT" }, { authorization: "Bearer x" }]) {
      const clientWithoutId = await connectClient(headers as Record<string, string>);
      expect(await clientWithoutId.callTool(configureCall({}))).toMatchObject({
        isError: true,
        content: [{ text: "Connection ID not available" }],
      });
    }
  });
});
