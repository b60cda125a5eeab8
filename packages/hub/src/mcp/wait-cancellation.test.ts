import { expect, it, onTestFinished } from "vitest";
import { inboxOffer } from "../events/inbox/inbox-offer.ts";
import { createWaits, type Wait } from "../events/inbox/wait-for-event.ts";
import { createInboxServer } from "./inbox-server.ts";

/**
 * An inbox server where only the client can end a wait: no event arrives, and the token stays valid.
 */
function setup() {
  const access = { token: "t", name: "t", scopes: ["inbox:read" as const], tenants: ["acme"] };
  const started = Promise.withResolvers<{ wait: Wait; ended: Promise<unknown> }>();
  const stopped = Promise.withResolvers<void>();
  const feed = {
    follow: async () => ({ cursor: new Map(), resume() {}, stop: stopped.resolve }),
  };
  const authorizer = { recheck: async () => true, watch: () => () => {} };
  const waits = createWaits({ inbox: {} as never, feed, authorizer });
  const server = createInboxServer({
    offers: [
      inboxOffer({
        inbox: {} as never,
        waits: {
          wait(wait) {
            const ended = waits.wait(wait);
            wait.progress(0, 300, "still waiting"); // starts the response
            started.resolve({ wait, ended });
            return ended;
          },
        },
      }),
    ],
    store: { subscribe: () => () => {} },
    authorizer,
    version: "0.0.0",
  });
  onTestFinished(async () => {
    await waits.close();
    await server.close();
  });
  const client = new AbortController();
  const send = (headers: Record<string, string>, message: object) =>
    server.serve(
      new Request("http://hub/mcp", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: "2.0", ...message }),
        signal: client.signal,
      }),
      access,
      async () => {},
    );
  const expectEnded = async () => {
    const { wait, ended } = await started.promise;
    expect(await ended).toBeUndefined();
    await stopped.promise;
    expect(wait.signal.aborted).toBe(true);
  };
  return { send, disconnect: () => client.abort(), started: started.promise, expectEnded };
}
type Setup = ReturnType<typeof setup>;

const waitCall = (meta: object = {}) => ({
  id: 7,
  method: "tools/call",
  params: {
    name: "wait_for_event",
    arguments: { timeout_s: 300 },
    _meta: { progressToken: 1, ...meta },
  },
});

async function callInSession({ send }: Setup) {
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  };
  const opened = await send({}, { id: 1, method: "initialize", params });
  await opened.text();
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
  const response = await send(session, waitCall());
  return { response, session };
}

async function callStateless({ send }: Setup) {
  const response = await send(
    {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "wait_for_event",
    },
    waitCall({
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    }),
  );
  return { response };
}

it.each([
  ["in a session", callInSession],
  ["with protocol version 2026-07-28", callStateless],
])("ends a wait %s when its client disconnects", async (_, call) => {
  const server = setup();
  const { response } = await call(server);
  expect(response.status).toBe(200);
  await server.started;
  server.disconnect();
  await server.expectEnded();
});

it("ends a wait in a session when it is cancelled", async () => {
  const server = setup();
  const { response, session } = await callInSession(server);
  await server.started;
  const params = { requestId: 7 };
  await server.send(session, { method: "notifications/cancelled", params });
  await server.expectEnded();
  expect(await response.text()).not.toMatch(/"(result|error)":/);
});

/** The 2026-07-28 protocol cancels a request by closing its response. */
it("ends a wait with protocol version 2026-07-28 when its response is closed", async () => {
  const server = setup();
  const { response } = await callStateless(server);
  await server.started;
  await response.body?.cancel();
  await server.expectEnded();
});
