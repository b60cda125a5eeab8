/** No event of a server that uses `@signalbox/triggers` is lost or stored twice when the hub is killed. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { getRequestListener } from "@hono/node-server";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { createTriggers } from "@signalbox/triggers";
import { fileStorage } from "@signalbox/triggers/node";
import { expect, it, onTestFinished, vi } from "vitest";
import { SECRET } from "../support/deliver.ts";
import { fixedPort } from "../support/fixed-port.ts";
import { hosts, startOn } from "../support/hosts.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { WAIT } from "../support/timeouts.ts";

const TOKEN = "sbx_trigger_sdk_story_0123456789";

async function startTriggerServer(file: string) {
  const triggers = createTriggers({
    definitions: [{ type: "tick", description: "Ticks." }],
    storage: fileStorage(file),
    retry: { firstMs: 20, maxMs: 200 },
  });
  const { fetch } = createMcpHandler(() => {
    const server = new McpServer({ name: "ticks", version: "1.0.0" });
    for (const { name, config, handler } of triggers.tools())
      server.registerTool(name, config, handler);
    return server;
  });
  const http = createServer(getRequestListener((request) => fetch(request)));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    await triggers.close();
    http.closeAllConnections();
    http.close();
  });
  return { triggers, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp` };
}

it.each(hosts)(
  "every event is stored and starts one run, although the hub on %s is killed and restarted",
  async (host) => {
    const folder = tempFolder();
    const { triggers, url } = await startTriggerServer(join(folder, "triggers.json"));
    const port = await fixedPort();
    const startHub = async () => {
      const hub = await startOn(host, {
        data: join(folder, "hub"),
        env: {
          PORT: port,
          SIGNALBOX_TOKEN: TOKEN,
          GITHUB_WEBHOOK_SECRET: SECRET,
          SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1",
          SIGNALBOX_RUN_LEASE: "1",
          SIGNALBOX_LOG_LEVEL: "warn",
        },
      });
      onTestFinished(async () => void (await hub.stop("SIGKILL")));
      return hub;
    };
    let hub = await startHub();
    const call = async <Result>(method: string, path: string, body?: unknown): Promise<Result> => {
      const response = await fetch(`${hub.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      expect(response.ok, `${method} ${path}: ${response.status}`).toBe(true);
      return (await response.json()) as Result;
    };

    const { id: connection } = await call<{ id: string }>("POST", "/api/connections", {
      name: "Ticks",
      url,
    });
    await call("POST", "/api/apps", { slug: "story", name: "story" });
    const flow = await call<{ id: string }>("POST", "/api/apps/story/flows", {
      name: "On ticks",
      nodes: [
        { id: "on", type: "Event", name: "On", parameters: { source: connection, type: "tick" } },
        {
          id: "end",
          type: "Return",
          name: "End",
          parameters: { value: { n: "{{ trigger.data.n }}" } },
        },
      ],
      edges: [{ source: "on", target: "end" }],
    });
    await call("POST", `/api/flows/${flow.id}/publish`, {});
    await vi.waitFor(
      async () => expect(await triggers.connections("tick")).toEqual([connection]),
      WAIT,
    );

    const notifyNumbers = async (first: number, end: number) => {
      for (let n = first; n < end; n++) await triggers.notify(connection, "tick", { n });
    };
    // The hub is killed while events arrive. More events happen while it is down.
    const burst = notifyNumbers(0, 40);
    await vi.waitFor(async () => {
      const { items } = await call<{ items: object[] }>("GET", "/api/runs");
      expect(items.length).toBeGreaterThan(3);
    }, WAIT);
    await hub.stop("SIGKILL");
    await burst;
    await notifyNumbers(40, 80);
    expect((await triggers.flush()).pending).toBeGreaterThanOrEqual(40);
    hub = await startHub();

    const listRuns = async () => {
      const { items } = await call<{ items: { status: string; output: { n: number } | null }[] }>(
        "GET",
        "/api/runs?limit=100&values=1",
      );
      return items;
    };
    await vi.waitFor(async () => {
      const succeeded = (await listRuns()).filter(({ status }) => status === "succeeded");
      expect(succeeded.length).toBeGreaterThanOrEqual(80);
    }, WAIT);
    const numbers = (await listRuns()).map(({ output }) => Number(output?.n)).sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: 80 }, (_, n) => n));
    expect(await triggers.flush()).toMatchObject({ pending: 0 });
  },
  240_000,
);
