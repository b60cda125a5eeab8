/**
 * The inbox over HTTP, and over MCP with clients of the protocol versions 2026-07-28 and
 * 2025-11-25.
 */

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as Client2025 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport2025 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Hono } from "hono";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { createExplainer } from "../../flows/matching/explain.ts";
import { explainTools } from "../../flows/matching/explain-tools.ts";
import { testRunJob } from "../../flows/test-run-job.ts";
import { createAuthorizeRequest } from "../../kernel/access/authorize-request.ts";
import { createAuthorizer } from "../../kernel/access/authorizer.ts";
import type { Scope } from "../../kernel/access/scopes.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import { createHostCheck } from "../../kernel/http/host-check.ts";
import { createIds } from "../../kernel/lib/ids.ts";
import { createInboxServer } from "../../mcp/inbox-server.ts";
import { addMcpRoutes } from "../../mcp/mcp-routes.ts";
import { storeDefinition } from "../../store.ts";
import { createToken } from "../../tokens/tokens.ts";
import { createFeed } from "../live/feed.ts";
import type { NewEvent } from "../model.ts";
import { appendRequest, sampleEvent } from "../store/contract/sample.ts";
import { createInbox } from "./inbox.ts";
import { inboxOffer } from "./inbox-offer.ts";
import { addInboxRoutes } from "./inbox-routes.ts";
import { createWaits } from "./wait-for-event.ts";

const ORIGIN = "http://127.0.0.1:4747";
const utf8 = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

async function setup() {
  const publicUrl = "https://hub.example";
  const store = openSqlite(storeDefinition, `${tempFolder()}/x.db`);
  onTestFinished(() => store.close());
  let time = Date.UTC(2026, 10, 15);
  const now = () => time;
  const inbox = createInbox({ store, now, runJob: testRunJob });
  const feed = createFeed(store);
  let openWaits = 0;
  onTestFinished(feed.close);
  const authorizer = createAuthorizer({ store, now, everyTenant: undefined, recheckMs: 20 });
  const explainer = createExplainer({
    store,
    largeReads: inbox.largeReads,
    newId: createIds(),
    now: Date.now,
    runJob: () => Promise.reject(new Error("unexpected evaluation")),
    maxChain: 5,
    maxLoops: 30,
  });
  const waits = createWaits({
    inbox,
    feed: {
      async follow(options) {
        const follower = await feed.follow(options);
        openWaits += 1;
        return follower;
      },
    },
    authorizer,
  });
  const mcp = createInboxServer({
    offers: [inboxOffer({ inbox, waits }), { tools: explainTools({ inbox, explainer }) }],
    store,
    authorizer,
    version: "0.0.0",
  });
  onTestFinished(mcp.close);
  const app = new Hono();
  const checkHost = createHostCheck({ host: "127.0.0.1", port: 4747, publicUrl });
  const authorizeRequest = createAuthorizeRequest({ authorizer, checkHost, publicUrl });
  addInboxRoutes(app, { inbox, authorizeRequest });
  addMcpRoutes(app, { mcp, authorizeRequest });
  let tokenCount = 0;
  const token = (tenants: string[], scopes: Scope[], expiresAt: number | null = null) => {
    tokenCount += 1;
    return createToken(store, {
      id: `t${tokenCount}`,
      name: "test",
      scopes,
      tenants,
      expiresAt,
      now: time,
    });
  };
  const fetch = (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(url, init);
    if (!request.headers.has("host")) request.headers.set("host", new URL(request.url).host);
    return Promise.resolve(app.fetch(request));
  };
  const get = (path: string, bearer?: string, init: RequestInit = {}) =>
    fetch(`${ORIGIN}${path}`, {
      ...init,
      headers: { ...(bearer ? { authorization: `Bearer ${bearer}` } : {}), ...init.headers },
    });
  const append = (events: NewEvent[], tenant = "acme") =>
    store.appendEvents([appendRequest(events, tenant)], null);
  const advance = (ms: number) => (time += ms);
  return { store, fetch, get, append, token, advance, openWaits: () => openWaits };
}

type Setup = Awaited<ReturnType<typeof setup>>;

async function connect2026({ fetch }: Setup, bearer: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${ORIGIN}/mcp`), {
      fetch,
      requestInit: { headers: { authorization: `Bearer ${bearer}` } },
    }),
  );
  onTestFinished(() => client.close());
  return client;
}

async function connect2025({ fetch }: Setup, bearer: string): Promise<Client2025> {
  const client = new Client2025({ name: "test", version: "1" });
  await client.connect(
    new Transport2025(new URL(`${ORIGIN}/mcp`), {
      fetch: fetch as typeof globalThis.fetch,
      requestInit: { headers: { authorization: `Bearer ${bearer}` } },
    }) as never,
  );
  onTestFinished(() => client.close());
  return client;
}

const clients = [
  ["2026-07-28", connect2026],
  ["2025-11-25", connect2025],
] as const;

const textOf = (result: unknown) =>
  JSON.parse((result as { content: { text: string }[] }).content[0]?.text ?? "null");
const messageOf = (result: unknown) => {
  const { isError, content } = result as { isError?: boolean; content: { text: string }[] };
  return isError ? content[0]?.text : undefined;
};

it("serves a short call without reading `body` of the request, for which Node would create a whole `Request`", async () => {
  const hub = await setup();
  const method = "tools/call";
  const name = "get_pending_status";
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const params = { name, arguments: {}, _meta: meta };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const bearer = await hub.token(["acme"], ["inbox:read"]);
  const readBody = vi.spyOn(Request.prototype, "body", "get");
  onTestFinished(() => void vi.restoreAllMocks());
  const response = await hub.get("/mcp", bearer, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      "content-length": String(body.length),
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      "mcp-name": name,
    },
  });
  expect(response.status).toBe(200);
  expect(readBody).not.toHaveBeenCalled();
});

describe.each(clients)("an MCP client with protocol version %s", (_, connect) => {
  it("gets the status, and lists, gets and marks events", async () => {
    const hub = await setup();
    const events = [1, 2, 3].map((number) =>
      sampleEvent({
        number,
        title: `Lamp ${number}`,
        body: utf8({ issue: { number, labels: [{ name: "red" }] } }),
      }),
    );
    await hub.append(events);
    const client = await connect(hub, await hub.token(["acme"], ["inbox:read", "inbox:write"]));
    const call = (name: string, args: Record<string, unknown> = {}) =>
      client.callTool({ name, arguments: args });

    const status = await call("get_pending_status");
    expect(textOf(status)).toEqual({
      pending_count: 3,
      latest_received_at: expect.any(String),
      types: { issues: 3 },
    });
    expect(status.structuredContent).toEqual(textOf(status));

    const first = await call("list_pending_events", { limit: 2 });
    expect(textOf(first).map((event: { title: string }) => event.title)).toEqual([
      "Lamp 3",
      "Lamp 2",
    ]);
    expect(Object.keys(textOf(first)[0])).toEqual([
      "id",
      "type",
      "received_at",
      "processed",
      "trigger_status",
      "last_triggered_at",
      "action",
      "repo",
      "sender",
      "number",
      "title",
      "url",
      "source",
      "seq",
    ]);
    const { next_cursor } = first.structuredContent as { next_cursor: string };
    const second = await call("list_pending_events", { limit: 2, cursor: next_cursor });
    expect(textOf(second).map((event: { title: string }) => event.title)).toEqual(["Lamp 1"]);
    expect(second.structuredContent).toMatchObject({ next_cursor: null });

    const id = events[0]?.id as string;
    expect(textOf(await call("get_event", { event_id: id }))).toMatchObject({
      id,
      seq: 1,
      payload: { issue: { number: 1 } },
    });
    expect(
      textOf(await call("get_event", { event_id: id, path: "issue.labels[].name" })).payload,
    ).toEqual(["red"]);
    expect(textOf(await call("get_event", { event_id: id, max_bytes: 10 }))).toMatchObject({
      truncated: true,
      payload: '{"issue":{',
    });
    expect(textOf(await call("get_webhook_events", { limit: 1 }))).toMatchObject([
      { payload: { issue: { number: 3 } } },
    ]);

    expect(textOf(await call("mark_processed", { event_id: id, note: "done" }))).toEqual({
      success: true,
      event_id: id,
    });
    expect((await call("mark_processed", { event_id: id })).structuredContent).toMatchObject({
      already_processed: [id],
    });
    expect(textOf(await call("get_pending_status"))).toMatchObject({ pending_count: 2 });
    expect(textOf(await call("search_events", { text: "lamp 1", processed: true }))).toMatchObject([
      { id },
    ]);
    expect(textOf(await call("explain_event", { event_id: id }))).toMatchObject({ triggers: [] });
  });

  it("waits for a matching event or a timeout", async () => {
    const hub = await setup();
    const client = await connect(hub, await hub.token(["acme"], ["inbox:read"]));
    const wait = (args: Record<string, unknown>) =>
      client.callTool({ name: "wait_for_event", arguments: args });
    expect(textOf(await wait({ timeout_s: 1, type: "push" }))).toEqual({ timed_out: true });
    expect(messageOf(await wait({ timeout_s: 301 }))).toMatch(/^timeout_s: must be at most 300/);
    expect(messageOf(await wait({ filter: { "a..b": 1 } }))).toMatch(/^filter: /);

    const waiting = wait({ filter: { "issue.labels[].name": "bug" }, timeout_s: 20 });
    const labelled = (name: string) =>
      sampleEvent({ body: utf8({ issue: { labels: [{ name }] } }) });
    const bug = labelled("bug");
    // The event is stored repeatedly, because the wait may not be open yet.
    let result: unknown;
    void waiting.then((waited) => {
      result = waited;
    });
    await hub.append([labelled("red")]);
    await expect
      .poll(async () => {
        await hub.append([{ ...bug, id: crypto.randomUUID(), external_id: crypto.randomUUID() }]);
        return result !== undefined;
      })
      .toBe(true);
    expect(textOf(result)).toMatchObject({ title: bug.title });
  });

  it("stops waiting when its token is revoked", async () => {
    const hub = await setup();
    const client = await connect(hub, await hub.token(["acme"], ["inbox:read"]));
    const waiting = client.callTool({ name: "wait_for_event", arguments: { timeout_s: 20 } });
    await expect.poll(hub.openWaits).toBe(1);
    await hub.store.revokeToken("t1", 1);
    hub.advance(1_000);
    expect(messageOf(await waiting)).toBe("token: is no longer valid");
  });

  it("reads the inbox and events as resources, and gets a triage prompt", async () => {
    const hub = await setup();
    const event = sampleEvent({ body: utf8({ hello: "there" }) });
    const other = sampleEvent();
    await hub.append([event]);
    await hub.append([other], "stranger");
    const client = await connect(hub, await hub.token(["acme"], ["inbox:read"]));
    const read = async (uri: string) => {
      const { contents } = await client.readResource({ uri });
      return JSON.parse((contents[0] as { text: string }).text);
    };
    expect((await client.listResources()).resources).toMatchObject([{ uri: "signalbox://inbox" }]);
    expect((await client.listResourceTemplates()).resourceTemplates).toMatchObject([
      { uriTemplate: "signalbox://events/{id}" },
    ]);
    expect(await read("signalbox://inbox")).toMatchObject({
      pending_count: 1,
      newest: [{ id: event.id }],
    });
    expect(await read(`signalbox://events/${event.id}`)).toMatchObject({
      payload: { hello: "there" },
    });
    for (const uri of [
      `signalbox://events/${other.id}`,
      "signalbox://events/x",
      "signalbox://else",
    ])
      await expect(client.readResource({ uri })).rejects.toThrow(/no resource/);
    expect((await client.listPrompts()).prompts).toMatchObject([{ name: "triage_inbox" }]);
    const prompt = await client.getPrompt({
      name: "triage_inbox",
      arguments: { repo: "octo/town" },
    });
    expect(JSON.stringify(prompt.messages)).toContain("octo/town");
    await expect(client.getPrompt({ name: "other" })).rejects.toThrow(/no prompt other/);
  });

  it("gets shorter pages if payloads are large, and continues from the cursor", async () => {
    const hub = await setup();
    const events = [9_000, 9_000, 9_000, 3_000_000, 9_000].map((length, number) =>
      sampleEvent({ number, body: utf8({ text: "x".repeat(length) }) }),
    );
    await hub.append(events);
    const client = await connect(hub, await hub.token(["acme"], ["inbox:read"]));
    const pages: string[][] = [];
    let cursor: string | null | undefined;
    do {
      const { structuredContent } = await client.callTool({
        name: "get_webhook_events",
        arguments: cursor ? { cursor } : {},
      });
      const page = structuredContent as { events: { id: string }[]; next_cursor: string | null };
      pages.push(page.events.map(({ id }) => id));
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect(pages.map((page) => page.length)).toEqual([1, 1, 2, 1]);
    expect(pages.flat()).toEqual(events.map(({ id }) => id).reverse());
  });

  it("gets a large payload in parts", async () => {
    const hub = await setup();
    const event = sampleEvent({ body: utf8({ text: "ü".repeat(200_000), title: "A lamp" }) });
    await hub.append([event]);
    const client = await connect(hub, await hub.token(["acme"], ["inbox:read"]));
    const get = (args: object = {}) =>
      client.callTool({ name: "get_event", arguments: { event_id: event.id, ...args } });
    const first = await get();
    const { payload, ...fields } = textOf(first);
    expect(fields).toMatchObject({ truncated: true, payload_bytes: 400_028 });
    expect(JSON.stringify(first.content)).toContain(`\\"offset\\": ${fields.next_offset}`);
    const last = textOf(await get({ offset: fields.next_offset }));
    expect(JSON.parse(payload + last.payload)).toMatchObject({ title: "A lamp" });
    expect(last.next_offset).toBeNull();
    expect(textOf(await get({ path: "title" })).payload).toBe("A lamp");
    expect(textOf(await get({ max_bytes: 26_214_400 })).payload).toBe(payload);
    expect(messageOf(await get({ offset: 400_028 }))).toBe("offset: must be less than 400028");
    const uri = `signalbox://events/${event.id}`;
    const { contents } = await client.readResource({ uri });
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({
      payload,
      ...fields,
    });
  });

  it("gets no details of internal errors", async () => {
    const hub = await setup();
    const client = await connect(hub, await hub.token(["acme"], ["inbox:read"]));
    hub.store.pendingStatus = () =>
      Promise.reject(new Error("no space left on the operator's disk"));
    const message = "failed to handle the request";
    await expect(client.readResource({ uri: "signalbox://inbox" })).rejects.toThrow(message);
    const result = await client.callTool({ name: "get_pending_status", arguments: {} });
    expect(messageOf(result)).toContain(message);
  });

  it("claims events that other agents cannot claim until the lease expires", async () => {
    const hub = await setup();
    await hub.append([1, 2, 3].map((number) => sampleEvent({ number })));
    const ada = await connect(hub, await hub.token(["acme"], ["inbox:write", "inbox:read"]));
    const bob = await connect(hub, await hub.token(["acme"], ["inbox:write", "inbox:read"]));
    const claim = async (client: Awaited<ReturnType<typeof connect>>, limit: number) =>
      textOf(
        await client.callTool({ name: "claim_events", arguments: { limit, lease_s: 60 } }),
      ) as { id: string }[];
    const [first, second] = [await claim(ada, 2), await claim(bob, 2)];
    expect(first).toHaveLength(2);
    expect(second).toHaveLength(1);
    expect(new Set([...first, ...second].map(({ id }) => id)).size).toBe(3);
    const stolen = await bob.callTool({
      name: "release_event",
      arguments: { event_id: first[0]?.id },
    });
    expect(messageOf(stolen)).toBe("event_id: is not claimed by this token");
    await ada.callTool({ name: "release_event", arguments: { event_id: first[0]?.id } });
    expect(await claim(bob, 5)).toMatchObject([{ id: first[0]?.id }]);
    hub.advance(61_000);
    expect(await claim(bob, 5)).toHaveLength(3);
  });

  it.each([
    ["list_pending_events", { limit: 1.5 }, /^limit: must be an integer/],
    ["list_pending_events", { limit: 1e9 }, /^limit: must be at most 100/],
    ["list_pending_events", { limit: "many" }, /^limit: /],
    ["list_pending_events", { cursor: "nonsense" }, /^cursor: is not a cursor of this hub/],
    ["list_pending_events", { order: "odd" }, /^order: /],
    ["list_pending_events", { max_bytes: 100 }, /^max_bytes: must be at least 4000$/],
    ["claim_events", { max_bytes: 1e7 }, /^max_bytes: must be at most 1000000$/],
    ["get_event", {}, /^event_id: /],
    ["get_event", { event_id: "x" }, /^event_id: is not the id of an event/],
    [
      "get_event",
      { event_id: "01a1dd86-35b7-702e-a4fc-71c93a9658a0" },
      /^event_id: there is no event/,
    ],
    ["mark_processed", {}, /^event_id: is missing/],
    [
      "mark_processed",
      { event_id: "01a1dd86-35b7-702e-a4fc-71c93a9658a0" },
      /^event_id: there is no event/,
    ],
    ["search_events", { from: "yesterday" }, /^from: must be a time/],
    ["get_event", { event_id: 5 }, /^event_id: must be a string, but is a number$/],
    ["get_event", { event_id: "x", max_bytes: 0 }, /^max_bytes: must be at least 1$/],
    ["mark_processed", { event_ids: [] }, /^event_ids: must have at least 1 item$/],
    ["mark_processed", { event_ids: "x" }, /^event_ids: must be an array, but is a string$/],
    ["list_pending_events", { order: 1 }, /^order: must be one of "newest", "oldest"$/],
    ["search_events", { processed: "no" }, /^processed: must be a boolean, but is a string$/],
    ["wait_for_event", { filter: [1] }, /^filter: must be an object, but is an array$/],
    [
      "wait_for_event",
      { filter: { a: [1] } },
      /^filter.a: must be a string, a number, true, false or/,
    ],
    [
      "get_pending_status",
      { tpye: "x" },
      /^tpye: unexpected argument; get_pending_status has max_bytes$/,
    ],
    [
      "list_pending_events",
      { state: 1, limt: 2 },
      /^state: unexpected argument; list_pending_events has limit, .*, max_bytes; limt: /,
    ],
  ] as const)("gets a tool error that names the field for %s %o", async (name, args, message) => {
    const hub = await setup();
    const client = await connect(hub, await hub.token(["acme"], ["inbox:read", "inbox:write"]));
    expect(messageOf(await client.callTool({ name, arguments: args }))).toMatch(message);
  });

  it("lists only the tools that the token's scopes allow, with schemas and hints", async () => {
    const hub = await setup();
    const reader = await connect(hub, await hub.token(["acme"], ["inbox:read"]));
    const { tools } = await reader.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual([
      "explain_event",
      "get_event",
      "get_pending_status",
      "get_webhook_events",
      "list_pending_events",
      "search_events",
      "wait_for_event",
    ]);
    for (const tool of tools) {
      expect(tool.outputSchema).toMatchObject({ type: "object" });
      expect(tool.annotations).toEqual({ readOnlyHint: true, openWorldHint: false });
    }
    const marked = await reader.callTool({ name: "mark_processed", arguments: { event_id: "x" } });
    expect(messageOf(marked)).toMatch(/lacks the scope inbox:write/);
    await expect(reader.callTool({ name: "rm_rf", arguments: {} })).rejects.toThrow(
      /no tool rm_rf/,
    );
  });

  it("gets the merged inboxes of the token's tenants, and no events of other tenants", async () => {
    const hub = await setup();
    const [acme, umbrella, stranger] = [sampleEvent(), sampleEvent(), sampleEvent()];
    for (const [tenant, event] of Object.entries({ acme, umbrella, stranger }))
      await hub.append([event], tenant);
    const client = await connect(
      hub,
      await hub.token(["acme", "umbrella"], ["inbox:read", "inbox:write"]),
    );
    const first = await client.callTool({ name: "list_pending_events", arguments: { limit: 1 } });
    const { next_cursor } = first.structuredContent as { next_cursor: string };
    const second = await client.callTool({
      name: "list_pending_events",
      arguments: { limit: 5, cursor: next_cursor },
    });
    const ids = [...textOf(first), ...textOf(second)].map(({ id }: { id: string }) => id).sort();
    expect(ids).toEqual([acme.id, umbrella.id].sort());
    for (const name of ["get_event", "mark_processed", "explain_event", "release_event"])
      expect(
        messageOf(await client.callTool({ name, arguments: { event_id: stranger.id } })),
      ).toMatch(/there is no event/);
    await client.callTool({
      name: "mark_processed",
      arguments: { event_ids: [acme.id, umbrella.id] },
    });
    expect(await hub.store.pendingStatus("stranger")).toMatchObject({ pending_count: 1 });
    expect(await hub.store.pendingStatus("umbrella")).toMatchObject({ pending_count: 0 });
  });
});

describe("tools", () => {
  it("count events whose type is the name of an object member, such as constructor", async () => {
    const hub = await setup();
    const types = ["constructor", "toString", "__proto__", "__proto__"];
    await hub.append(types.map((type) => sampleEvent({ type })));
    await hub.append([sampleEvent({ type: "constructor" })], "umbrella");
    const bearer = await hub.token(["acme", "umbrella"], ["inbox:read"]);
    const client = await connect2026(hub, bearer);
    const { structuredContent } = await client.callTool({ name: "get_pending_status" });
    const expected = [
      ["__proto__", 2],
      ["constructor", 2],
      ["toString", 1],
    ];
    const typesOfTool = (structuredContent as { types: object }).types;
    expect(Object.entries(typesOfTool).sort()).toEqual(expected);
    const status = await (await hub.get("/pending-status", bearer)).json();
    const { types: typesOfRoute } = status as { types: object };
    expect(Object.entries(typesOfRoute).sort()).toEqual(expected);
  });

  it("mark each event once, and reject more than a hundred per call", async () => {
    const hub = await setup();
    const [first, second] = [sampleEvent(), sampleEvent()];
    await hub.append([first, second]);
    const client = await connect2026(hub, await hub.token(["acme"], ["inbox:read", "inbox:write"]));
    const mark = (args: object) =>
      client.callTool({ name: "mark_processed", arguments: { ...args } });
    const ids = Array.from({ length: 100 }, () => crypto.randomUUID());
    expect(messageOf(await mark({ event_id: first.id, event_ids: ids }))).toBe(
      "event_ids: must have at most 100 items, together with event_id",
    );
    const marked = await mark({ event_id: first.id, event_ids: [first.id, second.id, second.id] });
    expect(marked.structuredContent).toMatchObject({ event_ids: [first.id, second.id] });
  });

  it("have the openWorld hint if they affect other systems", async () => {
    const hub = await setup();
    const client = await connect2026(hub, await hub.token(["acme"], ["admin"]));
    const { tools } = await client.listTools();
    const openWorld = tools.filter(({ annotations }) => annotations?.openWorldHint !== false);
    expect(openWorld.map(({ name }) => name)).toEqual(["replay_event"]);
  });
});

describe("the inbox routes for existing clients", () => {
  it("ignore empty filters", async () => {
    const { get, append, token } = await setup();
    await append([sampleEvent()]);
    const bearer = await token(["acme"], ["inbox:read"]);
    const page = await get("/pending-events?type=&repo=&cursor=&order=&limit=", bearer);
    expect(await page.json()).toHaveLength(1);
  });

  it.each([
    ["{", 400, /^body: is not valid JSON/],
    ["[]", 400, /^body: /],
    ["{}", 400, /^event_id: /],
    [JSON.stringify({ event_id: "x", note: "x".repeat(70_000) }), 413, /limit of 65536 bytes/],
  ])("reject the body %.20s of mark-processed", async (body, status, detail) => {
    const { get, token } = await setup();
    const bearer = await token(["acme"], ["inbox:write"]);
    const response = await get("/mark-processed", bearer, { method: "POST", body });
    expect(await response.json()).toMatchObject({ status, detail: expect.stringMatching(detail) });
  });

  it("list, get and mark events like the tools", async () => {
    const { get, append, token } = await setup();
    const events = [1, 2].map((number) => sampleEvent({ number, body: utf8({ number }) }));
    await append(events);
    const bearer = await token(["acme"], ["inbox:read", "inbox:write"]);
    expect(await (await get("/pending-status", bearer)).json()).toMatchObject({
      pending_count: 2,
      types: { issues: 2 },
    });
    const page = await get("/pending-events?limit=1", bearer);
    expect(await page.json()).toMatchObject([{ number: 2 }]);
    const next = page.headers.get("x-next-cursor");
    expect(
      await (await get(`/pending-events?limit=1&cursor=${next}`, bearer)).json(),
    ).toMatchObject([{ number: 1 }]);
    expect(await (await get("/webhook-events", bearer)).json()).toMatchObject([
      { payload: { number: 2 } },
      { payload: { number: 1 } },
    ]);
    expect(await (await get(`/event?id=${events[0]?.id}`, bearer)).json()).toMatchObject({
      payload: { number: 1 },
    });
    const body = JSON.stringify({ event_id: events[0]?.id });
    const marked = await get("/mark-processed", bearer, { method: "POST", body });
    expect([marked.status, await marked.json()]).toEqual([
      200,
      { success: true, event_id: events[0]?.id },
    ]);
    expect(await (await get("/pending-status", bearer)).json()).toMatchObject({ pending_count: 1 });
  });

  it.each([
    ["/pending-events?limit=1.5", 400, "invalid", /limit: must be an integer/],
    ["/pending-events?limit=0", 400, "invalid", /limit: must be at least 1/],
    ["/pending-events?cursor=x", 400, "invalid", /cursor/],
    ["/event", 400, "invalid", /id: is missing/],
    ["/event?id=x", 400, "invalid", /^id: is not the id of an event/],
    ["/event?id=01a1dd86-35b7-702e-a4fc-71c93a9658a0", 404, "not_found", /there is no event/],
  ])("reject %s with %i %s", async (path, status, code, detail) => {
    const { get, token } = await setup();
    const response = await get(path, await token(["acme"], ["inbox:read"]));
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(await response.json()).toMatchObject({
      status,
      code,
      detail: expect.stringMatching(detail),
    });
  });
});

describe("the hub", () => {
  it.each(["/pending-status", "/mcp"])(
    "rejects missing, unknown, expired and revoked tokens on %s",
    async (path) => {
      const { get, token, store, advance } = await setup();
      const expiring = await token(["acme"], ["inbox:read"], Date.UTC(2026, 10, 15) + 1_000);
      const revoked = await token(["acme"], ["inbox:read"]);
      await store.revokeToken("t2", 1);
      advance(2_000);
      const metadata = `resource_metadata="https://hub.example/.well-known/oauth-protected-resource${path === "/mcp" ? path : ""}"`;
      const scope =
        path === "/mcp" ? 'scope="inbox:read inbox:write flows:call"' : 'scope="inbox:read"';
      for (const [bearer, code] of [
        [undefined, "token_missing"],
        ["guess", "token_unknown"],
        [expiring, "token_expired"],
        [revoked, "token_revoked"],
      ] as const) {
        const error = bearer === undefined ? "" : 'error="invalid_token", ';
        const response = await get(path, bearer, { method: path === "/mcp" ? "POST" : "GET" });
        expect([response.status, await response.json()]).toMatchObject([401, { code }]);
        expect(response.headers.get("www-authenticate")).toBe(
          `Bearer ${error}${scope}, ${metadata}`,
        );
      }
    },
  );

  it("names the missing scope in WWW-Authenticate", async () => {
    const { get, token } = await setup();
    const bearer = await token(["acme"], ["flows:call"]);
    for (const [path, init, scope] of [
      ["/pending-status", {}, "inbox:read"],
      ["/mark-processed", { method: "POST", body: "{}" }, "inbox:write"],
      ["/mcp", { method: "POST", body: "{}" }, "inbox:read"],
    ] as const) {
      const response = await get(path, bearer, init);
      expect([response.status, response.headers.get("www-authenticate")]).toEqual([
        403,
        `Bearer error="insufficient_scope", scope="${scope}", resource_metadata="https://hub.example/.well-known/oauth-protected-resource${path === "/mcp" ? path : ""}"`,
      ]);
    }
    const otherTenant = await get("/pending-status?tenant=umbrella", bearer);
    expect([otherTenant.status, otherTenant.headers.get("www-authenticate")]).toEqual([403, null]);
  });

  it("rejects a token in the query", async () => {
    const { get, token } = await setup();
    const bearer = await token(["acme"], ["admin"]);
    for (const path of ["/pending-status", "/mcp"])
      expect((await get(`${path}?token=${bearer}`)).status).toBe(401);
  });

  it("rejects a token within a second after it was revoked", async () => {
    const { get, token, store, advance } = await setup();
    const bearer = await token(["acme"], ["inbox:read"]);
    expect((await get("/pending-status", bearer)).status).toBe(200);
    await store.revokeToken("t1", 1);
    advance(1_000);
    expect((await get("/pending-status", bearer)).status).toBe(401);
  });

  it("requires ?tenant= with a token for all tenants, and rejects tenants that the token does not include", async () => {
    const { get, token } = await setup();
    const forAllTenants = await token(["*"], ["admin"]);
    expect((await get("/pending-status", forAllTenants)).status).toBe(403);
    expect((await get("/pending-status?tenant=acme", forAllTenants)).status).toBe(200);
    const forAcme = await token(["acme"], ["inbox:read"]);
    expect((await get("/pending-status?tenant=umbrella", forAcme)).status).toBe(403);
  });

  it("rejects requests from other origins and under other host names", async () => {
    const { fetch, token } = await setup();
    const authorization = `Bearer ${await token(["acme"], ["inbox:read"])}`;
    const request = (headers: Record<string, string>) =>
      fetch(`${ORIGIN}/pending-status`, { headers: { authorization, ...headers } });
    expect((await request({ origin: "https://evil.example" })).status).toBe(403);
    expect((await request({ origin: "null" })).status).toBe(403);
    expect((await request({ origin: "http://203.0.113.5" })).status).toBe(403);
    expect((await request({ origin: "http://127.0.0.1:3000" })).status).toBe(403);
    expect((await request({ host: "rebind.evil.example" })).status).toBe(421);
    expect((await request({ origin: "https://hub.example" })).status).toBe(200);
    expect((await request({ host: "hub.example" })).status).toBe(200);
    expect(
      (await request({ host: "localhost:4747", origin: "http://localhost:4747" })).status,
    ).toBe(200);
  });
});
