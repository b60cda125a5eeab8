import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { serveBridge } from "./bridge.ts";
import { readSettings } from "./settings.ts";

const frames =
  'id: 0\ndata: {"status":"connected","cursor":"0"}\n\n' +
  'id: 1\ndata: {"event_id":"e1","type":"push","summary":{}}\n\n';

/** A hub that has told of one event, and keeps the line open. */
const hub: typeof fetch = async (_, init) =>
  new Response(
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(frames));
        init?.signal?.addEventListener("abort", () => controller.close());
      },
    }),
    { headers: { "content-type": "text/event-stream" } },
  );

it("whose client goes in the middle of a message ends when that is said and remembered", async () => {
  const folder = tempFolder();
  const sent: JSONRPCMessage[] = [];
  const transport: Transport = {
    start: async () => {},
    send: async (message) => void sent.push(message),
    close: async () => transport.onclose?.(),
  };
  const { promise: flushed, resolve: flush } = Promise.withResolvers<void>();
  let over = false;
  const serving = serveBridge({
    settings: readSettings({
      WEBHOOK_WORKER_URL: "http://hub.example",
      SIGNALBOX_BRIDGE_STATE: folder,
    }),
    transport,
    say: () => {},
    flush: () => flushed,
    fetch: hub,
  }).then(() => {
    over = true;
  });
  const place = () =>
    readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")).cursor);
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  };
  await expect.poll(() => transport.onmessage).toBeDefined();
  transport.onmessage?.({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  await expect.poll(() => sent.length).toBe(1);
  transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/initialized" });
  await expect.poll(() => sent.length).toBe(2);
  expect(sent[1]).toMatchObject({ params: { meta: { message_id: "e1" } } });
  await transport.close();
  await new Promise((resolve) => setImmediate(resolve));
  expect([over, place()]).toEqual([false, ["0"]]);
  flush();
  await serving;
  expect(place()).toEqual(["1"]);
});
