/** A flow calls a tool of another MCP server. The flow is a tool too, and the hub derives its output schema. */
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { openHub, readFlow } from "../hub.ts";
import { startWeatherServer } from "./weather-server.ts";

const weather = await startWeatherServer();
const hub = await openHub({ SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1" });
try {
  const { id } = await hub.api<{ id: string }>("POST", "/api/connections", {
    name: "Weather",
    url: weather.url,
  });
  await hub.api("POST", `/api/connections/${id}/check`, {});

  // The hub knows the tools of the connection, so it rejects a flow that calls an unknown tool.
  const flowWithTypo = readFlow(import.meta.url, { CONNECTION: id, get_weather: "get_wether" });
  await assert.rejects(
    hub.install("wrong", flowWithTypo),
    /has no tool get_wether; it has get_weather/,
  );
  await hub.install("advice", readFlow(import.meta.url, { CONNECTION: id }));

  const agent = new Client({ name: "example", version: "1.0.0" });
  await agent.connect(
    new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp/advice`), {
      requestInit: { headers: { authorization: `Bearer ${hub.token}` } },
    }),
  );
  const [tool] = (await agent.listTools()).tools;
  assert.match(JSON.stringify(tool?.outputSchema), /"degrees":\{"type":"number"\}/);

  const ask = async (city: string) =>
    (await agent.callTool({ name: "what_to_wear", arguments: { city } })).structuredContent;
  assert.deepEqual(await ask("Bern"), { wear: "a coat", weather: { degrees: 4 } });
  assert.deepEqual(await ask("Lisbon"), { wear: "a shirt", weather: { degrees: 24 } });
  assert.deepEqual(await ask("Atlantis"), {
    wear: "whatever you like",
    why: "There is no city Atlantis.",
  });
  await agent.close();
  console.log("✓ a tool of another MCP server, checked when saved, with an error branch");
} finally {
  await hub.stop();
  weather.stop();
}
