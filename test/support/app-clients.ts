/** MCP clients of every generation and era, as one: what an app's tools look like to each of them. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
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

interface Called {
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
  ): Promise<Called>;
  /** How often it was told that the tools have changed; from now on. */
  listen(): Promise<() => number>;
  close(): Promise<void>;
}

export type Connect = (url: string, token: string) => Promise<AppClient>;

const withToken = (token: string) => ({
  requestInit: { headers: { authorization: `Bearer ${token}` } },
});

const second =
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
      call: async (name, args = {}, more) =>
        (await client.callTool({ name, arguments: args }, more)) as Called,
      async listen() {
        let heard = 0;
        client.setNotificationHandler("notifications/tools/list_changed", () => {
          heard += 1;
        });
        if (client.getNegotiatedProtocolVersion() === "2026-07-28") {
          const { honoredFilter } = await client.listen({ toolsListChanged: true });
          expect(honoredFilter).toEqual({ toolsListChanged: true });
        }
        return () => heard;
      },
      close: () => client.close(),
    };
  };

const first: Connect = async (url, token) => {
  const client = new OldClient({ name: "story", version: "1" });
  await client.connect(new OldTransport(new URL(url), withToken(token)) as never);
  onTestFinished(() => client.close());
  return {
    title: client.getServerVersion()?.title,
    instructions: client.getInstructions(),
    async tools() {
      const all: Tool[] = [];
      let cursor: string | undefined;
      do {
        const page = await client.listTools(cursor === undefined ? {} : { cursor });
        all.push(...(page.tools as Tool[]));
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      return all;
    },
    call: async (name, args = {}, more) =>
      (await client.callTool({ name, arguments: args }, undefined, more as never)) as Called,
    async listen() {
      let heard = 0;
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
        heard += 1;
      });
      return () => heard;
    },
    close: () => client.close(),
  };
};

const earlier = (version: string) => second({ supportedProtocolVersions: [version] }, version);

export const newest = second({ versionNegotiation: { mode: "auto" } }, "2026-07-28");

export const clients: [string, Connect][] = [
  ["2.x that finds out the era", newest],
  ["2.x of 2026-07-28", second({ versionNegotiation: { mode: { pin: "2026-07-28" } } })],
  ["2.x of 2025-11-25", earlier("2025-11-25")],
  ["2.x of 2025-06-18", earlier("2025-06-18")],
  ["2.x of 2025-03-26", earlier("2025-03-26")],
  ["1.x", first],
];
