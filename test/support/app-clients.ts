/** One interface for MCP clients of the SDK versions 1 and 2 and of all protocol versions. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as Sdk1Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Sdk1Transport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, onTestFinished } from "vitest";

interface Tool {
  name: string;
  title?: string | undefined;
  description?: string | undefined;
  inputSchema: { properties?: object | undefined; required?: string[] | undefined };
  outputSchema?: object | undefined;
  annotations?: object | undefined;
}

interface ToolResult {
  isError?: boolean | undefined;
  content: { type: string; text: string }[];
  structuredContent?: unknown;
  _meta?: Record<string, unknown> | undefined;
}

interface Progress {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}

interface AppClient {
  title: string | undefined;
  instructions: string | undefined;
  tools(): Promise<Tool[]>;
  call(
    name: string,
    args?: Record<string, unknown>,
    options?: { onprogress?: (progress: Progress) => void; signal?: AbortSignal },
  ): Promise<ToolResult>;
  /** Starts to count `tools/list_changed` notifications. Returns a function that returns the count. */
  listen(): Promise<() => number>;
  close(): Promise<void>;
}

export type Connect = (url: string, token: string) => Promise<AppClient>;

const withToken = (token: string) => ({
  requestInit: { headers: { authorization: `Bearer ${token}` } },
});

/** Returns a function that connects a client of SDK 2, and checks the negotiated protocol version. */
const createSdk2Connect =
  (options: ConstructorParameters<typeof Client>[1], version?: string): Connect =>
  async (url, token) => {
    const client = new Client({ name: "story", version: "1" }, options);
    await client.connect(new StreamableHTTPClientTransport(new URL(url), withToken(token)));
    onTestFinished(() => client.close());
    if (version) expect(client.getNegotiatedProtocolVersion()).toBe(version);
    return {
      title: client.getServerVersion()?.title,
      instructions: client.getInstructions(),
      tools: async () => (await client.listTools()).tools,
      call: async (name, args = {}, options) =>
        (await client.callTool({ name, arguments: args }, options)) as ToolResult,
      async listen() {
        let notifications = 0;
        client.setNotificationHandler("notifications/tools/list_changed", () => {
          notifications += 1;
        });
        if (client.getNegotiatedProtocolVersion() === "2026-07-28") {
          const { honoredFilter } = await client.listen({ toolsListChanged: true });
          expect(honoredFilter).toEqual({ toolsListChanged: true });
        }
        return () => notifications;
      },
      close: () => client.close(),
    };
  };

const connectSdk1: Connect = async (url, token) => {
  const client = new Sdk1Client({ name: "story", version: "1" });
  await client.connect(new Sdk1Transport(new URL(url), withToken(token)) as never);
  onTestFinished(() => client.close());
  return {
    title: client.getServerVersion()?.title,
    instructions: client.getInstructions(),
    async tools() {
      const tools: Tool[] = [];
      let cursor: string | undefined;
      do {
        const page = await client.listTools(cursor === undefined ? {} : { cursor });
        tools.push(...(page.tools as Tool[]));
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      return tools;
    },
    call: async (name, args = {}, options) =>
      (await client.callTool({ name, arguments: args }, undefined, options as never)) as ToolResult,
    async listen() {
      let notifications = 0;
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
        notifications += 1;
      });
      return () => notifications;
    },
    close: () => client.close(),
  };
};

const createPinnedConnect = (version: string) =>
  createSdk2Connect({ supportedProtocolVersions: [version] }, version);

export const connectNewestVersion = createSdk2Connect(
  { versionNegotiation: { mode: "auto" } },
  "2026-07-28",
);

export const clients: [string, Connect][] = [
  ["SDK 2.x, negotiated version", connectNewestVersion],
  [
    "SDK 2.x, 2026-07-28",
    createSdk2Connect({ versionNegotiation: { mode: { pin: "2026-07-28" } } }),
  ],
  ["SDK 2.x, 2025-11-25", createPinnedConnect("2025-11-25")],
  ["SDK 2.x, 2025-06-18", createPinnedConnect("2025-06-18")],
  ["SDK 2.x, 2025-03-26", createPinnedConnect("2025-03-26")],
  ["SDK 1.x", connectSdk1],
];
