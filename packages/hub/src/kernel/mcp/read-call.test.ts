import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { createInbox } from "../../events/inbox/inbox.ts";
import { inboxOffer } from "../../events/inbox/inbox-offer.ts";
import type { NewEvent } from "../../events/model.ts";
import { appendRequest, sampleEvents } from "../../events/store/contract/sample.ts";
import { testRunJob } from "../../flows/test-run-job.ts";
import { createInboxServer } from "../../mcp/inbox-server.ts";
import { storeDefinition } from "../../store.ts";
import { openSqlite } from "../backends/sqlite.ts";

const MODERN = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

function setup(store = openSqlite(storeDefinition, `${tempFolder()}/x.db`)) {
  const server = createInboxServer({
    offers: [
      inboxOffer({
        inbox: createInbox({ store, now: Date.now, runJob: testRunJob }),
        waits: { wait: async () => undefined },
      }),
    ],
    store,
    authorizer: { watch: () => () => {} },
    version: "1",
  });
  onTestFinished(async () => {
    await server.close();
    await store.close();
  });
  return async (init: RequestInit) => {
    const response = await server.serve(
      new Request("http://hub/mcp", {
        ...init,
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...init.headers,
        },
      }),
      { token: "t", name: "t", scopes: ["inbox:read"], tenants: ["acme"] },
      async () => {},
    );
    const text = await response.text();
    const json = /^(?:event|data|id):/m.test(text)
      ? (/^data: (\{.*)$/m.exec(text)?.[1] ?? "{}")
      : text;
    return { status: response.status, json: JSON.parse(json || "{}"), text };
  };
}

const post = (method: string, params: unknown, headers = {}) => ({
  method: "POST",
  headers,
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
});
const members = (count: number, value: unknown = 0) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, value]));

it("returns 405 for a GET without a session, even if it has a Content-Length", async () => {
  const send = setup();
  const { status } = await send({
    method: "GET",
    headers: { "content-length": "2", "mcp-method": "tools/list" },
  });
  expect(status).toBe(405);
});

it.each([
  ["initialize", {}],
  ["initialize", { protocolVersion: 5, capabilities: {}, clientInfo: { name: "x", version: "1" } }],
  ["prompts/get", {}],
  ["prompts/get", { name: 5 }],
  ["resources/read", {}],
  ["resources/read", { uri: [] }],
  ["tools/call", { arguments: {} }],
  ["tools/list", { cursor: 5 }],
])("returns -32602 for malformed params of %s: %j", async (method, params) => {
  const send = setup();
  const legacy = await send(post(method, params));
  expect(legacy.json.error).toMatchObject({
    code: -32602,
    message: expect.stringContaining(method),
  });
  if (method === "initialize") return;
  const modern = await send(
    post(
      method,
      { ...params, _meta: MODERN },
      {
        "mcp-method": method,
        "mcp-protocol-version": "2026-07-28",
      },
    ),
  );
  expect(modern.json.error?.code).not.toBe(-32603);
});

it("names the exceeded limit of values, fields or bytes in the error", async () => {
  const send = setup();
  const call = (filter: unknown) =>
    send(post("tools/call", { name: "wait_for_event", arguments: { filter } }));
  const list = await call(Array(60_000).fill(0));
  expect(list).toMatchObject({
    status: 400,
    json: { error: { code: -32600, message: expect.stringContaining("more than 50000 values") } },
  });
  const fields = await call(members(20_000));
  expect(fields.json.error.message).toContain("an object with 2000");
  const large = await call("x".repeat(2 * 1024 * 1024));
  expect(large).toMatchObject({
    status: 413,
    json: { error: { message: expect.stringContaining("1048576 bytes") } },
  });
  const initialize = await send(
    post("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: { experimental: members(9_000) },
      clientInfo: { name: "x", version: "1" },
    }),
  );
  expect(initialize).toMatchObject({
    status: 413,
    json: { error: { message: expect.stringContaining("65536 bytes") } },
  });
});

it("limits the values of a request that opens a session, and of _meta", async () => {
  const send = setup();
  const initialize = {
    protocolVersion: "2025-11-25",
    capabilities: { experimental: members(600, {}) },
    clientInfo: { name: "x", version: "1" },
  };
  const error = {
    status: 400,
    json: { error: { code: -32600, message: expect.stringContaining("more than 500 values") } },
  };
  expect(await send(post("initialize", initialize))).toMatchObject(error);
  const capabilities = { experimental: members(100, {}) };
  expect(await send(post("initialize", { ...initialize, capabilities }))).toMatchObject({
    status: 200,
  });
  const discover = (count: number) =>
    send(
      post(
        "tools/list",
        {
          _meta: {
            ...MODERN,
            "io.modelcontextprotocol/clientCapabilities": { experimental: members(count, {}) },
          },
        },
        { "mcp-method": "tools/list", "mcp-protocol-version": "2026-07-28" },
      ),
    );
  expect(await discover(600)).toMatchObject(error);
  expect(await discover(100)).toMatchObject({ status: 200 });
});

it("limits the messages of a batch", async () => {
  const send = setup();
  const batch = (count: number) =>
    send({
      method: "POST",
      body: JSON.stringify(
        Array.from({ length: count }, (_, id) => ({ jsonrpc: "2.0", id, method: "ping" })),
      ),
    });
  expect(await batch(20)).toMatchObject({ status: 200 });
  expect(await batch(21)).toMatchObject({
    status: 400,
    json: {
      error: {
        code: -32600,
        message: "Invalid Request: The batch has 21 messages; the limit is 20",
      },
    },
  });
});

it("handles a batch up to 1 MiB of responses, and rejects its other requests with the fix", async () => {
  const store = openSqlite(storeDefinition, `${tempFolder()}/x.db`);
  const send = setup(store);
  const body = new TextEncoder().encode(JSON.stringify({ text: "x".repeat(200_000) }));
  const [event] = sampleEvents(1, () => ({ body }));
  await store.appendEvents([appendRequest([event as NewEvent], "acme")], null);
  const { status, text } = await send({
    method: "POST",
    body: JSON.stringify(
      Array.from({ length: 20 }, (_, id) => ({
        jsonrpc: "2.0",
        id,
        method: "tools/call",
        params: { name: "get_event", arguments: { event_id: event?.id } },
      })),
    ),
  });
  expect(status).toBe(200);
  const responses = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(`${json}`));
  expect(responses.map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, id) => id));
  const rejected = responses.filter(({ error }) => error);
  expect(rejected).toHaveLength(17);
  expect(rejected[0].error).toMatchObject({
    code: -32600,
    message: expect.stringContaining("1048576 bytes, which is the limit. Send it without a batch."),
  });
  expect(text.length).toBeLessThan(1.5 * 1024 * 1024);
});

it("lists the first invalid arguments, and counts the others", async () => {
  const send = setup();
  const { json } = await send(
    post("tools/call", { name: "list_pending_events", arguments: members(1_000) }),
  );
  const [{ text }] = json.result.content;
  expect(text).toMatch(/and 980 more$/);
  expect(text.length).toBeLessThan(10_000);
});

it.each([
  ["id", { id: "x".repeat(500_000), method: "ping" }],
  ["method", { id: 1, method: "x".repeat(500_000) }],
  ["params.uri", { id: 1, method: "resources/read", params: { uri: "x".repeat(900_000) } }],
  ["params.uri", { id: 1, method: "resources/subscribe", params: { uri: "x".repeat(900_000) } }],
  ["params.name", { id: 1, method: "tools/call", params: { name: "x".repeat(900_000) } }],
  [
    "params._meta.progressToken",
    { id: 1, method: "tools/list", params: { _meta: { progressToken: "x".repeat(900_000) } } },
  ],
])("does not echo a long %s", async (field, message) => {
  const send = setup();
  const body = JSON.stringify({ jsonrpc: "2.0", ...message });
  const { status, json, text } = await send({ method: "POST", body });
  expect([status, json.error.code]).toEqual([400, -32600]);
  expect(json.error.message).toMatch(new RegExp(`${field} has \\d+ characters; the limit is 1000`));
  expect(text.length).toBeLessThan(1_000);
});
