/** The routes on a real store, with a fake keeper that records scripted results instead of calling servers. */
import { Hono } from "hono";
import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { openSqlite } from "../kernel/backends/sqlite.ts";
import { mountRoutes } from "../kernel/http/route.ts";
import { createSeal } from "../kernel/lib/seal.ts";
import { storeDefinition } from "../store.ts";
import { commandRefusal } from "./command.ts";
import { createConnectionEditor } from "./connection-editor.ts";
import { ConnectionError } from "./connection-error.ts";
import { connectionRoutes } from "./connection-routes.ts";
import type { Connections } from "./connections.ts";
import { unsealCredentials } from "./credentials.ts";
import type { ConnectionResult } from "./model.ts";
import { publishTriggers, sampleOffers } from "./store/contract/connection-sample.ts";

const seal = createSeal(new Uint8Array(32));
const timers = {
  now: Date.now,
  after(ms: number, work: () => void) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};
const OK = { status: "ok", error: null, attempt: 0, offers: sampleOffers() } as const;
const BODY = { name: "Weather", url: "https://weather.example/mcp" };

interface Options {
  check?: Partial<ConnectionResult> | undefined;
  allowCommands?: boolean;
  waitMs?: number;
  callTool?: Connections["callTool"];
}

function setup({ check = OK, allowCommands = false, waitMs = 30_000, callTool }: Options = {}) {
  const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  let result: Partial<ConnectionResult> | undefined = check;
  const unsubscribe = store.subscribe(async ({ topic }) => {
    if (topic !== "connections" || !result) return;
    const now = Date.now();
    const lease = { by: "keeper", now, until: now + 60_000, limit: 10 };
    for (const { connection } of await store.leaseConnections(lease)) {
      const { id, revision } = connection;
      const checked = { id, revision, checked_at: Date.now(), next_at: now + 60_000, ...result };
      await store.finishConnection("keeper", checked, [], now);
    }
  });
  onTestFinished(async () => {
    unsubscribe();
    await store.close();
  });
  const app = new Hono();
  const editor = createConnectionEditor({
    store,
    seal,
    timers,
    commandRefusal: allowCommands ? undefined : commandRefusal(undefined),
    waitMs,
  });
  const routes = connectionRoutes({
    store,
    editor,
    connections: callTool && { callTool },
    revokeRemoved: undefined,
    now: Date.now,
  });
  const access = { token: "t", name: "t", scopes: ["admin" as const] };
  mountRoutes(app, routes, async (request) => ({
    ...access,
    tenants: [request.headers.get("x-tenant") ?? "acme"],
  }));
  return {
    store,
    setCheck(next: Partial<ConnectionResult> | undefined) {
      result = next;
    },
    async call(method: string, path: string, body?: unknown, tenant = "acme") {
      const response = await app.request(`/api/connections${path}`, {
        method,
        headers: { "x-tenant": tenant },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
      return { status: response.status, json: (text && JSON.parse(text)) as any };
    },
  };
}

it("adds a connection, and returns the result of its check", async () => {
  const { call } = setup();
  const { status, json } = await call("POST", "", BODY);
  expect(status).toBe(201);
  expect(json).toEqual({
    id: expect.stringMatching(/^weather-[a-z2-9]{6}$/),
    name: "Weather",
    url: BODY.url,
    command: null,
    args: [],
    credentials: {},
    status: "ok",
    error: null,
    server: { name: "weather", version: "1.0.0" },
    tools: [{ name: "forecast", description: "The weather of tomorrow." }],
    triggers: [
      { type: "storm", description: "" },
      { type: "rain", description: "" },
    ],
    tool_count: 1,
    trigger_count: 2,
    checked_at: expect.any(String),
    next_check_at: expect.any(String),
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
  expect((await call("GET", `/${json.id}`)).json).toEqual(json);
  const { items } = (await call("GET", `/${json.id}/tools`)).json;
  expect(items).toEqual(sampleOffers().tools);
  expect((await call("GET", `/${json.id}/triggers`)).json.items).toEqual(sampleOffers().triggers);
});

it("adds a server that cannot be reached with status failed, and one whose check takes too long with status unknown", async () => {
  const failed = setup({ check: { status: "failed", error: "connect ECONNREFUSED", attempt: 1 } });
  expect((await failed.call("POST", "", BODY)).json).toMatchObject({
    status: "failed",
    error: "connect ECONNREFUSED",
    tools: [],
    triggers: [],
  });
  const slow = setup({ waitMs: 100 });
  slow.setCheck(undefined);
  const { status, json } = await slow.call("POST", "", BODY);
  expect([status, json.status, json.checked_at]).toEqual([201, "unknown", null]);
});

it("never returns credentials, only their kind and names", async () => {
  const { call, store } = setup();
  const auth = { type: "oauth", client_id: "hub", client_secret: "top secret", scope: "read" };
  const added = await call("POST", "", { ...BODY, auth, headers: { "X-Key": "hidden" } });
  const { id } = added.json;
  const visibleCredentials = {
    auth: { type: "oauth", client_id: "hub", scope: "read" },
    headers: ["X-Key"],
  };
  expect(added.json.credentials).toEqual(visibleCredentials);
  const { sealed = null } = (await store.getConnection("acme", id)) ?? {};
  expect(await unsealCredentials(sealed, seal)).toEqual({ auth, headers: { "X-Key": "hidden" } });
  const answers = [added, await call("GET", ""), await call("GET", `/${id}`), sealed];
  expect(JSON.stringify(answers)).not.toMatch(/top secret|hidden/);

  const changed = await call("PATCH", `/${id}`, { auth: { type: "bearer", token: "other" } });
  expect(changed.json.credentials).toEqual({ auth: { type: "bearer" }, headers: ["X-Key"] });
  const removed = await call("PATCH", `/${id}`, { auth: null, headers: null });
  expect(removed.json.credentials).toEqual({});
  expect(await store.getConnection("acme", id)).toMatchObject({ sealed: null, revision: 3 });
});

it("keeps credentials when the path of the URL changes, and requires them again for another origin", async () => {
  const { call, store } = setup();
  const auth = { type: "bearer", token: "secret" };
  const { id } = (await call("POST", "", { ...BODY, auth })).json;
  const otherPath = await call("PATCH", `/${id}`, { url: "https://weather.example/v2" });
  expect(otherPath.json).toMatchObject({ url: "https://weather.example/v2", status: "ok" });
  const { sealed = null } = (await store.getConnection("acme", id)) ?? {};
  expect(await unsealCredentials(sealed, seal)).toEqual({ auth });
  const url = "https://other.example/mcp";
  const otherOrigin = await call("PATCH", `/${id}`, { url });
  expect([otherOrigin.status, otherOrigin.json.errors]).toEqual([
    400,
    [{ path: "auth", message: "must be set again, or be null: the new URL has another origin" }],
  ]);
  expect((await call("PATCH", `/${id}`, { url, auth })).json).toMatchObject({ url });
  expect((await call("PATCH", `/${id}`, { url: BODY.url, auth: null })).json).toMatchObject({
    url: BODY.url,
    credentials: {},
  });
  const renamed = await call("PATCH", `/${id}`, { name: "Rain" });
  expect(renamed.json).toMatchObject({ id, name: "Rain" });
  expect(await store.getConnection("acme", id)).toMatchObject({ revision: 4 });
});

it("names the field and the fix when it rejects a request", async () => {
  const { call, store } = setup();
  const auth = { type: "bearer", token: "x" };
  const cases: [object, number, string, RegExp][] = [
    [{ url: BODY.url }, 400, "name", /^is missing$/],
    [{ ...BODY, name: 1 }, 400, "name", /^must be a string$/],
    [{ ...BODY, name: "" }, 400, "name", /^must not be empty$/],
    [{ ...BODY, headers: { Host: "x" } }, 400, "headers.Host", /^is set by the hub: remove it$/],
    [{ ...BODY, auth: { type: "bearer" } }, 400, "auth.token", /^is missing$/],
    [{ ...BODY, name: " " }, 400, "name", /empty/],
    [{ ...BODY, name: "a\nb" }, 400, "name", /control/],
    [{ name: "x" }, 400, "url", /URL of the MCP server, or set command/],
    [{ name: "x", url: "weather" }, 400, "url", /http\(s\) URL/],
    [{ name: "x", url: "ftp://example.com" }, 400, "url", /http\(s\) URL/],
    [{ name: "x", url: "https://me:pw@example.com" }, 400, "url", /use auth or headers/],
    [{ name: "x", url: "https://example.com#top" }, 400, "url", /fragment/],
    [{ ...BODY, command: "node" }, 400, "command", /combined with url/],
    [{ ...BODY, env: { A: "b" } }, 400, "env", /only possible with command/],
    [{ ...BODY, args: ["a"] }, 400, "args", /only possible with command/],
    [{ name: "x", command: "node", auth }, 400, "auth", /only possible with url/],
    [{ name: "x", command: "node" }, 403, "command", /SIGNALBOX_ALLOW_COMMANDS=on/],
    [{ ...BODY, auth: { type: "basic" } }, 400, "auth.type", /bearer.*oauth/],
    [{ ...BODY, auth: { type: "bearer", token: "a\nb" } }, 400, "auth.token", /ASCII/],
    [{ ...BODY, headers: { Authorization: "x" } }, 400, "headers.Authorization", /use auth/],
    [{ ...BODY, headers: [] }, 400, "headers", /must be an object of header names/],
    [{ ...BODY, headers: { "a b": "x" } }, 400, "headers.a b", /name of a header/],
    [{ name: "x", command: "node", env: { "1": "x" } }, 400, "env.1", /name of an environment/],
    [{ ...BODY, id: "mine" }, 400, "id", /./],
  ];
  for (const [body, status, path, message] of cases) {
    const answer = await call("POST", "", body);
    expect([answer.status, answer.json.errors?.[0]?.path, body]).toEqual([status, path, body]);
    expect(answer.json.errors).toMatchObject([{ message: expect.stringMatching(message) }]);
  }
  expect(await store.listConnections("acme", "", 10)).toEqual([]);
  const { id } = (await call("POST", "", BODY)).json;
  const other = await call("PATCH", `/${id}`, { command: "node" });
  expect([other.status, other.json.detail]).toEqual([
    400,
    expect.stringMatching(/command: cannot be set.*create another/),
  ]);
});

it("adds a command if the operator allows commands", async () => {
  const { call } = setup({ allowCommands: true });
  const body = { name: "Files", command: "npx", args: ["server"], env: { TOKEN: "hidden" } };
  const { status, json } = await call("POST", "", body);
  expect(status).toBe(201);
  expect(json).toMatchObject({
    url: null,
    command: "npx",
    args: ["server"],
    credentials: { env: ["TOKEN"] },
  });
  const changed = await call("PATCH", `/${json.id}`, { args: [] });
  expect(changed.json).toMatchObject({ command: "npx", args: [], credentials: { env: ["TOKEN"] } });
  const url = await call("PATCH", `/${json.id}`, { url: BODY.url });
  expect([url.status, url.json.errors[0].path]).toEqual([400, "url"]);
});

it("checks a connection again on request", async () => {
  const { call, setCheck } = setup();
  const { id, checked_at } = (await call("POST", "", BODY)).json;
  setCheck({ status: "failed", error: "503 Service Unavailable", attempt: 1 });
  const { status, json } = await call("POST", `/${id}/check`);
  expect(status).toBe(200);
  expect(json).toMatchObject({
    status: "failed",
    error: "503 Service Unavailable",
    // The tools that the server offered before stay visible.
    tool_count: 1,
  });
  expect(json.checked_at > checked_at).toBe(true);
  setCheck(OK);
  expect((await call("POST", `/${id}/check`)).json).toMatchObject({ status: "ok", error: null });
});

it("lists the connections of one tenant in pages, and deletes them", async () => {
  const { call, store } = setup();
  const ids: string[] = [];
  for (const name of ["c", "a", "b"]) ids.push((await call("POST", "", { ...BODY, name })).json.id);
  await call("POST", "", BODY, "umbrella");
  const first = (await call("GET", "?limit=2")).json;
  const second = (await call("GET", `?limit=2&cursor=${first.next_cursor}`)).json;
  const listed = [...first.items, ...second.items];
  expect(listed.map(({ id }) => id)).toEqual(ids.toSorted());
  expect(listed[0]).not.toHaveProperty("tools");
  expect(second.next_cursor).toBeNull();
  const [id = ""] = ids;
  for (const [method, path] of [
    ["GET", ""],
    ["DELETE", ""],
    ["POST", "/check"],
    ["GET", "/tools"],
    ["GET", "/triggers"],
    ["GET", "/subscriptions"],
    ["POST", "/subscriptions/x/rotate"],
  ] as const)
    expect((await call(method, `/${id}${path}`, undefined, "umbrella")).status).toBe(404);
  expect((await call("PATCH", `/${id}`, { name: "x" }, "umbrella")).status).toBe(404);
  expect((await call("DELETE", `/${id}`)).status).toBe(204);
  expect((await call("GET", `/${id}`)).json.detail).toBe(`There is no connection ${id}.`);
  expect(await store.getConnection("acme", id)).toBeUndefined();
});

it("calls a tool, and returns the server's message if the call fails", async () => {
  const failures = { slow: "timeout", down: "unreachable", full: "busy" } as const;
  const { call } = setup({
    async callTool(connection, { tool, arguments: args }, { timeoutMs }) {
      const code = failures[tool as keyof typeof failures];
      if (code) throw new ConnectionError(code, `The server is ${tool}.`);
      const text = `${connection.name} ${JSON.stringify(args)} ${timeoutMs}`;
      return { isError: tool === "bad", content: [{ type: "text", text }] };
    },
  });
  const { id } = (await call("POST", "", BODY)).json;
  const answer = await call("POST", `/${id}/tools/forecast`, { arguments: { city: "Rome" } });
  expect([answer.status, answer.json]).toEqual([
    200,
    { isError: false, content: [{ type: "text", text: 'Weather {"city":"Rome"} 60000' }] },
  ]);
  expect((await call("POST", `/${id}/tools/bad`, {})).json.isError).toBe(true);
  for (const [tool, status] of [
    ["slow", 504],
    ["down", 502],
    ["full", 503],
  ] as const)
    expect(await call("POST", `/${id}/tools/${tool}`, {})).toMatchObject({
      status,
      json: { code: `connection_${failures[tool]}`, detail: `The server is ${tool}.` },
    });
  expect((await call("POST", `/${id}/tools/x`, { arguments: [] })).status).toBe(400);
  expect(await call("POST", `/${id}/tools/x`, { city: "Rome" })).toMatchObject({
    status: 400,
    json: { detail: 'city: unexpected field: the arguments of the tool go in "arguments"' },
  });
  expect((await call("POST", "/none-aaaaaa/tools/x", {})).status).toBe(404);
});

it("adds connections unchecked while no hub runs, and rejects checks and calls with the fix", async () => {
  const { call, setCheck } = setup({ waitMs: 0 });
  setCheck(undefined);
  const { status, json } = await call("POST", "", BODY);
  expect([status, json.status]).toEqual([201, "unknown"]);
  for (const path of ["check", "tools/x"]) {
    const answer = await call("POST", `/${json.id}/${path}`, {});
    expect([answer.status, answer.json.detail]).toEqual([
      409,
      expect.stringMatching(/No hub is running .*signalbox serve/),
    ]);
  }
});

it("lists subscriptions with their state, and rotates the token of one", async () => {
  const { call, store, setCheck } = setup();
  const { id } = (await call("POST", "", BODY)).json;
  setCheck(undefined);
  const flow = await publishTriggers(store, [
    { source: id, type: "storm", config: { params: { city: "Rome" } } },
  ]);
  const { items } = (await call("GET", `/${id}/subscriptions`)).json;
  expect(items).toEqual([
    {
      id: expect.any(String),
      flow_id: flow.id,
      node_id: "on event",
      type: "storm",
      params: { city: "Rome" },
      state: "configuring",
      error: null,
      last_fired_at: null,
      updated_at: expect.any(String),
    },
  ]);
  const [subscription] = items;
  const rotated = await call("POST", `/${id}/subscriptions/${subscription.id}/rotate`);
  expect(rotated).toMatchObject({
    status: 202,
    json: { id: subscription.id, state: "configuring" },
  });
  expect(await store.listTriggerSubscriptions("acme", id)).toMatchObject([{ revision: 2 }]);
  const rejected = await call("POST", `/${id}/subscriptions/${subscription.id}/rotate`, {
    revoke_now: "yes",
  });
  expect(rejected).toMatchObject({ status: 400, json: { errors: [{ path: "revoke_now" }] } });
  expect((await call("POST", `/${id}/subscriptions/none/rotate`)).json.detail).toBe(
    "The connection has no subscription none.",
  );
});
