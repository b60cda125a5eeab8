import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { createInbox } from "../inbox/inbox.ts";
import { testEvaluate } from "../sandbox/test-evaluate.ts";
import { openSqlite } from "../store/backends/sqlite.ts";
import { createInboxServer } from "./inbox-server.ts";

const MODERN = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

function setup() {
  const store = openSqlite(`${tempFolder()}/x.db`);
  const server = createInboxServer({
    inbox: createInbox({ store, now: Date.now, evaluate: testEvaluate }),
    waits: { wait: async () => undefined, close: async () => {} },
    triggers: {} as never,
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
    return { status: response.status, json: JSON.parse(json || "{}") };
  };
}

const post = (method: string, params: unknown, headers = {}) => ({
  method: "POST",
  headers,
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
});
const members = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 0]));

it("GET with the length of a body is answered like any GET without a session", async () => {
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
])("malformed params of %s are -32602: %j", async (method, params) => {
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

it("names the limit of values, fields and bytes", async () => {
  const send = setup();
  const call = (filter: unknown) =>
    send(post("tools/call", { name: "wait_for_event", arguments: { filter } }));
  const list = await call(Array(60_000).fill(0));
  expect(list).toMatchObject({
    status: 400,
    json: { error: { code: -32600, message: expect.stringContaining("more than 50000 values") } },
  });
  const fields = await call(members(20_000));
  expect(fields.json.error.message).toContain("an object with 20005 fields".slice(0, 19));
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

it("counts the problems of arguments that it does not list", async () => {
  const send = setup();
  const { json } = await send(
    post("tools/call", { name: "list_pending_events", arguments: members(1_000) }),
  );
  const [{ text }] = json.result.content;
  expect(text).toMatch(/and 980 more$/);
  expect(text.length).toBeLessThan(10_000);
});
