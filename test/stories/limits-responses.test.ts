/** Large responses of MCP servers that the hub calls. These servers are untrusted. */
import { expect, it } from "vitest";
import { startApi } from "../support/api-client.ts";
import { probeHealth } from "../support/health-probe.ts";
import { serveRaw } from "../support/mcp-servers.ts";

/** By tool: its result as JSON. */
const RESULTS: Record<string, string> = {
  /** 2.4 million values in 7.2 MB. */
  dense: `{"content":[],"structuredContent":{"a":[${"{},".repeat(2_400_000)}1]}}`,
  long: JSON.stringify({ content: [{ type: "text", text: "x".repeat(7_500_000) }] }),
};

const serveLargeResults = () =>
  serveRaw(({ id, method, params }, response) => {
    const tools = Object.keys(RESULTS).map((name) => ({ name, inputSchema: { type: "object" } }));
    const result =
      method === "tools/list" ? JSON.stringify({ tools }) : RESULTS[params.name as string];
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
  });

it("long responses of a connection, and responses with many values, do not delay other requests", async () => {
  const api = await startApi("SQLite", { SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1" });
  const { url } = await serveLargeResults();
  const { id } = (await api.expect(201, "POST", "/api/connections", { name: "Foreign", url })).json;
  await api.expect(200, "POST", `/api/connections/${id}/check`, {});
  const call = (tool: string) => api.call("POST", `/api/connections/${id}/tools/${tool}`, {});

  const denseProbe = probeHealth(api.hub, "six dense responses of 7.2 MB");
  for (const { status, text } of await Promise.all(
    Array.from({ length: 6 }, () => call("dense")),
  )) {
    expect(text).toContain("exceeds the limit of 100000 values");
    expect(status).toBeGreaterThanOrEqual(400);
  }
  await denseProbe.expectHealthy();

  const longProbe = probeHealth(api.hub, "two responses of 7.5 MB of text");
  for (const { status, text } of await Promise.all([call("long"), call("long")]))
    expect([status, text.length > 7_500_000]).toEqual([200, true]);
  await longProbe.expectHealthy();
});
