import { expect, it, onTestFinished } from "vitest";
import { createInboxServer } from "./inbox-server.ts";
import { createWaits } from "./wait-for-event.ts";

it("a call in a session ends when its client has gone", async () => {
  const following = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const follower = { cursor: new Map(), resume() {}, stop: stopped.resolve };
  const server = createInboxServer({
    triggers: undefined as never,
    inbox: {} as never,
    waits: createWaits({
      inbox: {} as never,
      feed: {
        async follow() {
          following.resolve();
          return follower;
        },
      },
    }),
    store: { subscribe: () => () => {} },
    accesses: { check: async () => "unknown" },
    version: "0.0.0",
  });
  onTestFinished(server.close);
  const access = { token: "t", name: "t", scopes: ["inbox:read" as const], tenants: ["acme"] };
  const client = new AbortController();
  const ask = (session: string, method: string, params: object) =>
    server.serve(
      new Request("http://hub/mcp", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...(session ? { "mcp-session-id": session } : {}),
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
        signal: client.signal,
      }),
      access,
      async () => {},
    );
  const opened = await ask("", "initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  });
  const session = opened.headers.get("mcp-session-id") ?? "";
  const wait = { name: "wait_for_event", arguments: { timeout_s: 300 } };
  expect((await ask(session, "tools/call", wait)).status).toBe(200);
  await following.promise;
  client.abort();
  await stopped.promise;
});
