/** Parsing very many JSON values would delay other requests, so answers with too many are rejected. */
import { expect, it } from "vitest";
import { serveRaw } from "../../../../test/support/mcp-servers.ts";
import {
  callOptions,
  catchError,
  newConnection,
  openConnections,
} from "../../../../test/support/open-connections.ts";

const MESSAGE = "The server's answer exceeds the limit of 100000 values.";

it.each(["application/json", "text/event-stream"])(
  "rejects an answer as %s with more than 100,000 values",
  async (type) => {
    const { url } = await serveRaw(({ id }, response) => {
      const dense = `[${"{},".repeat(2_400_000)}1]`;
      const message = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"structuredContent":{"a":${dense}}}}`;
      response
        .writeHead(200, { "content-type": type })
        .end(type === "application/json" ? message : `: "\ndata: ${message}\n\n`);
    });
    const connections = openConnections();
    const call = { tool: "echo", arguments: {} };
    expect(
      await catchError(connections.callTool(await newConnection(url), call, callOptions())),
    ).toMatchObject({ code: "too_large", message: MESSAGE });
  },
);
