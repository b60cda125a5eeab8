/** The Node host on real sockets: bursts of requests with one token, and clients that wait during a stop. */
import { once } from "node:events";
import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { readSettings } from "../../settings.ts";
import { createLog } from "./log.ts";
import { startHub } from "./start-hub.ts";

const TOKEN = "sbx_of_the_tests";

async function start() {
  const env = { PORT: "0", SIGNALBOX_DATA: tempFolder(), SIGNALBOX_TOKEN: TOKEN };
  const hub = await startHub({
    settings: readSettings({ flags: {}, env, file: {} }),
    log: await createLog({ level: "silent", format: "json" }),
    version: "0.0.0",
  });
  onTestFinished(() => hub.stop());
  return hub;
}

const waitForEvent = (url: string) =>
  fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${TOKEN}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "wait_for_event", arguments: { timeout_s: 300 } },
    }),
  });

it("on stop, first responds to clients that wait for an event", async () => {
  const hub = await start();
  // The response headers arrive as soon as the calls wait.
  const responses = await Promise.all([waitForEvent(hub.url), waitForEvent(hub.url)]);
  const texts = responses.map((response) => response.text());
  await hub.stop();
  for (const text of await Promise.all(texts))
    expect(text).toContain("wait_for_event: the hub is stopping; try again later");
});

it("serves concurrent requests of one token up to a limit, and rejects the rest", async () => {
  const hub = await start();
  const { hostname, port } = new URL(hub.url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  let received = "";
  socket.setEncoding("utf8").on("data", (text) => {
    received += text;
  });
  await once(socket, "connect");
  const request = `GET /pending-events?limit=100 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;
  socket.write(request.repeat(1_000));
  const statuses = () => [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
  await expect.poll(() => statuses().length).toBe(1_000);
  const counts = Map.groupBy(statuses(), (status) => status);
  expect([...counts.keys()].sort()).toEqual(["200", "429"]);
  expect(counts.get("200")?.length).toBeGreaterThanOrEqual(500);
  expect(received).toContain("retry-after: 1\r\n");

  const headers = { authorization: `Bearer ${TOKEN}` };
  expect((await fetch(`${hub.url}/pending-events`, { headers })).status).toBe(200);
});
