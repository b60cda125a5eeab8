/** One flow with two triggers provides two tools with different parameters and shared nodes. */
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { openHub, readFlow } from "../hub.ts";

const hub = await openHub();
try {
  await hub.install("stations", readFlow(import.meta.url));

  const agent = new Client({ name: "example", version: "1.0.0" });
  await agent.connect(
    new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp/stations`), {
      requestInit: { headers: { authorization: `Bearer ${hub.token}` } },
    }),
  );
  const { tools } = await agent.listTools();
  assert.deepEqual(tools.map(({ name }) => name).sort(), [
    "find_station_by_code",
    "find_station_by_name",
  ]);

  const byName = await agent.callTool({
    name: "find_station_by_name",
    arguments: { name: "chur" },
  });
  assert.deepEqual(byName.structuredContent, {
    asked: { name: "chur" },
    result: { found: true, station: { name: "Chur", code: 8509000, platforms: 8 } },
  });
  const byCode = await agent.callTool({
    name: "find_station_by_code",
    arguments: { code: 8507000 },
  });
  assert.equal((byCode.structuredContent as { result: { found: boolean } }).result.found, true);

  const invalidCall = await agent.callTool({
    name: "find_station_by_code",
    arguments: { code: "Bern" },
  });
  assert.equal(invalidCall.isError, true);
  await agent.close();
  console.log("✓ two intents, two tools, one shared lookup");
} finally {
  await hub.stop();
}
