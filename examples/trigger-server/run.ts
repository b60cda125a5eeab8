/** A trigger of an MCP server starts a flow: connect the server, publish the flow, break a lamp. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openHub, readFlow, waitFor } from "../hub.ts";
import { startLampServer } from "./server.ts";

interface Run {
  status: string;
  event_id: string;
  output: unknown;
}

const folder = mkdtempSync(join(tmpdir(), "signalbox-lamps-"));
const hub = await openHub({ SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1" });
const { promise: listening, resolve: onListen } = Promise.withResolvers<string>();
const lamps = startLampServer(join(folder, "triggers.json"), onListen);
try {
  const url = await listening;
  const { id: connectionId } = await hub.api<{ id: string }>("POST", "/api/connections", {
    name: "Lamps",
    url,
  });
  const flow = readFlow(import.meta.url, { CONNECTION: connectionId });
  const flowId = await hub.install("town", flow);

  // The hub subscribes to the trigger in the background.
  await waitFor(async () => {
    const { items } = await hub.api<{ items: { state: string; error: string | null }[] }>(
      "GET",
      `/api/connections/${connectionId}/subscriptions`,
    );
    return items.find(({ state }) => state === "active");
  });
  assert.deepEqual(await lamps.triggers.connections(), [connectionId]);

  await lamps.reportBroken("Side Street", 1);
  await lamps.reportBroken("Main Street", 7);
  const run = await waitFor(async () => {
    const { items } = await hub.api<{ items: Run[] }>("GET", "/api/runs?values=1");
    return items.find(({ status }) => status === "succeeded");
  });
  assert.deepEqual(run.output, { repair: "lamp 7" });
  const event = await hub.api<{ source: string; type: string }>(
    "GET",
    `/api/events/${run.event_id}`,
  );
  assert.equal(event.source, connectionId);
  assert.equal(event.type, "lamp.broken");

  // After the flow is deleted, the hub unsubscribes in the background.
  await hub.api("DELETE", `/api/flows/${flowId}`);
  await waitFor(async () => ((await lamps.triggers.connections()).length === 0 ? true : undefined));
  console.log("✓ a broken lamp of Main Street started one run; then the hub unsubscribed");
} finally {
  await lamps.stop();
  await hub.stop();
  rmSync(folder, { recursive: true, force: true });
}
