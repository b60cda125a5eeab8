/** MCP clients read a large payload in chunks, HTTP clients read it whole, and neither blocks the hub. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished } from "vitest";
import { startApi } from "../support/api-client.ts";
import { deliver, issueOpened } from "../support/deliver.ts";
import { probeHealth } from "../support/health-probe.ts";
import { MAX_WAIT_MS } from "../support/timeouts.ts";

const commits = Array.from({ length: 80_000 }, (_, index) => ({
  id: index,
  message: `${"x".repeat(150)} ${index}`,
  author: { name: "mona", email: "mona@example.com" },
}));
/** 20 MB with 480,000 values. */
const pushBody = JSON.stringify({ ...issueOpened, commits, last: "here" });

it("a payload of 20 MB is read in chunks by MCP tools, and whole over HTTP", async () => {
  const api = await startApi();
  const delivered = await deliver(api.hub.url, { type: "push", body: pushBody });
  expect(delivered.status).toBe(202);
  const { id } = (await delivered.json()) as { id: string };
  const client = new Client({ name: "test", version: "1" });
  const token = await api.token("--scope", "inbox:read");
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${api.hub.url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  );
  onTestFinished(() => client.close());
  const call = async (name: string, args: Record<string, unknown>) => {
    const { content, isError } = await client.callTool(
      { name, arguments: args },
      { timeout: MAX_WAIT_MS },
    );
    const [first] = content as { text: string }[];
    expect([isError ?? false, first?.text.slice(0, 200)]).toEqual([false, expect.any(String)]);
    return JSON.parse(first?.text as string);
  };
  const probe = probeHealth(api.hub, "readers of a payload of 20 MB");

  const chunks = Array.from({ length: 10 }, () => call("get_event", { event_id: id }));
  for (const { payload, truncated, payload_bytes, next_offset } of await Promise.all(chunks)) {
    expect(pushBody.startsWith(payload)).toBe(true);
    expect([truncated, payload_bytes, next_offset]).toEqual([true, pushBody.length, 262_144]);
  }
  const nextChunk = await call("get_event", { event_id: id, offset: 262_144 });
  expect(nextChunk.payload).toBe(pushBody.slice(262_144, 524_288));
  const title = await call("get_event", { event_id: id, path: "issue.title" });
  expect(title.payload).toBe("It rains");
  const lastId = await call("get_event", { event_id: id, path: "commits[79999].id" });
  expect(lastId.payload).toBe(79_999);
  const allIds = await call("get_event", { event_id: id, path: "commits[].id" });
  expect(allIds).toMatchObject({ truncated: true, next_offset: 262_144 });
  const [listed] = await call("get_webhook_events", {});
  expect(listed).toMatchObject({ truncated: true, payload_bytes: pushBody.length });
  const { contents } = await client.readResource({ uri: `signalbox://events/${id}` });
  expect(JSON.stringify(contents).length).toBeLessThan(1_000_000);

  const waiting = call("wait_for_event", {
    type: "push",
    filter: { last: "here" },
    timeout_s: MAX_WAIT_MS / 1_000,
  });
  let isReceived = false;
  const receipt = waiting.then((event) => {
    expect(event).toMatchObject({ type: "push" });
    isReceived = true;
  });
  // The webhook is sent repeatedly, because the hub may receive the first one before the wait starts.
  await expect
    .poll(
      async () => (await deliver(api.hub.url, { type: "push", body: pushBody })).ok && isReceived,
    )
    .toBe(true);
  await receipt;

  for (const path of [`/event?id=${id}`, `/api/events/${id}`, "/webhook-events"]) {
    const { status, text } = await api.call("GET", path);
    expect([status, text.includes('"last":"here"')]).toEqual([200, true]);
  }
  await probe.expectHealthy({ maxMegabytes: 1_000 });
});
