/** Tests the SDK in workerd, with the SQLite storage of a Durable Object. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import type { StoreObject } from "../../hub/src/kernel/backends/durable-object.test-worker.ts";
import { createTriggers, type SqliteDatabase, sqliteStorage } from "./index.ts";
import { storageContract } from "./storage-contract.ts";
import { configure, meshToken, quickRetries } from "./test-support.ts";

const withObjectStorage = (body: (storage: SqliteDatabase) => Promise<void>): Promise<void> =>
  runInDurableObject(env.STORE.get(env.STORE.newUniqueId()), (_: StoreObject, { storage }) =>
    body(storage),
  );

storageContract("a Durable Object", (body) =>
  withObjectStorage((storage) => body(sqliteStorage(storage), async () => sqliteStorage(storage))),
);

const definitions = [
  {
    type: "issue",
    description: "A new issue.",
    params: z.object({ repo: z.string() }),
    payload: z.object({ repo: z.string() }),
  },
] as const;
const callback = { callbackUrl: "https://hub.test/cb", callbackToken: "secret" };

/** A fake hub. It records the bodies of callbacks, and responds with `status`. */
function createFakeHub(status: number) {
  const bodies: { id: string; data: object }[] = [];
  const hub = {
    status,
    bodies,
    fetch: async (url: unknown, init?: RequestInit) => {
      bodies.push((await new Request(String(url), init).json()) as (typeof bodies)[number]);
      return new Response("", { status: hub.status });
    },
  };
  return hub;
}

it("delivers an event once that was stored while the hub was down, even after a restart", () =>
  withObjectStorage(async (storage) => {
    const hub = createFakeHub(503);
    const open = () =>
      createTriggers({
        definitions,
        storage: sqliteStorage(storage),
        fetch: hub.fetch,
        ...quickRetries,
      });
    const first = open();
    await configure(first, { type: "issue", params: { repo: "a/b" }, ...callback });
    await first.notify("c", "issue", { repo: "a/b" }, { id: "evt-1" });
    await first.notify("c", "issue", { repo: "other" });
    await vi.waitFor(() => expect(hub.bodies.length).toBeGreaterThan(1), 60_000);
    await first.close();

    hub.bodies.length = 0;
    hub.status = 202;
    const second = open();
    await vi.waitFor(() => expect(hub.bodies).toHaveLength(1), 60_000);
    expect(hub.bodies).toMatchObject([{ id: "evt-1", type: "issue", data: { repo: "a/b" } }]);
    expect(await second.flush()).toEqual({ pending: 0, nextAt: undefined });
    expect(hub.bodies).toHaveLength(1);
    await second.close();
  }));

it("passes deliveries to waitUntil", () =>
  withObjectStorage(async (storage) => {
    const hub = createFakeHub(202);
    const promises: Promise<unknown>[] = [];
    const triggers = createTriggers({
      definitions,
      storage: sqliteStorage(storage),
      fetch: hub.fetch,
      waitUntil: (promise) => promises.push(promise),
    });
    await configure(triggers, { type: "issue", params: { repo: "a/b" }, ...callback });
    await triggers.notify("c", "issue", { repo: "a/b" });
    await Promise.all(promises);
    expect(hub.bodies).toHaveLength(1);
    await triggers.close();
  }));

it("serves the tools from a Worker", async () => {
  const hub = createFakeHub(202);
  const triggers = createTriggers({ definitions, fetch: hub.fetch });
  const { fetch } = createMcpHandler(() => {
    const server = new McpServer({ name: "worker", version: "1.0.0" });
    for (const { name, config, handler } of triggers.tools())
      server.registerTool(name, config, handler);
    return server;
  });
  const call = async (name: string, args: object) => {
    const response = await fetch(
      new Request("https://worker.test/mcp", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "x-mesh-token": meshToken({ connectionId: "conn-1" }),
        },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: { name, arguments: args },
        }),
      }),
    );
    return response.text();
  };
  expect(await call("TRIGGER_LIST", {})).toContain("A new issue.");
  const args = { type: "issue", params: { repo: "a/b" }, enabled: true, ...callback };
  expect(await call("TRIGGER_CONFIGURE", args)).toContain('"success":true');
  await triggers.notify("conn-1", "issue", { repo: "a/b" });
  expect(hub.bodies).toHaveLength(1);
  await triggers.close();
});
