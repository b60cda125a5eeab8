/** The draft of MCP Events, with clients of both protocol generations, against the built hub. */
import { describe, expect, it, vi } from "vitest";
import { issueOpened } from "../support/deliver.ts";
import {
  ADMIN,
  eras,
  idsOf,
  namesOf,
  PATIENCE,
  refusalOf,
  send,
  setup,
} from "../support/events-client.ts";

const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";

describe.each(eras)("%s", (_, connect) => {
  it("lists declared and stored event types in pages", async () => {
    const one = await setup();
    const client = await connect(one.hub);
    await send(one, {}, { type: "brand_new_type" });
    const first = await client.request("events/list", {});
    expect(namesOf(first)).toContain("github.issues");
    expect((first.events as unknown[])[0]).toMatchObject({
      delivery: ["poll", "push", "webhook"],
      inputSchema: { type: "object", properties: { repo: {}, action: {}, sender: {}, number: {} } },
      payloadSchema: { type: "object" },
    });
    const rest = await client.request("events/list", { cursor: first.nextCursor });
    expect(namesOf(rest)).toEqual(["github.brand_new_type"]);
    expect(rest.nextCursor).toBeUndefined();
  });

  it("polls new events once, filtered by arguments", async () => {
    const one = await setup();
    const client = await connect(one.hub);
    await send(one);
    const poll = (cursor: unknown, more = {}) =>
      client.request("events/poll", { name: "github.issues", arguments: {}, cursor, ...more });
    const now = await poll(null);
    expect(now).toMatchObject({ events: [], truncated: false, hasMore: false });
    const [second, third] = [await send(one), await send(one, { action: "closed" })];
    await send(one, {}, { type: "push" });

    const found = await poll(now.cursor);
    expect(idsOf(found)).toEqual([second, third]);
    expect((found.events as unknown[])[0]).toMatchObject({
      eventId: second,
      name: "github.issues",
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: {
        event_id: expect.any(String),
        seq: 2,
        source: "github",
        type: "issues",
        repo: "octo/town",
        number: 7,
        payload: issueOpened,
      },
    });
    expect(await poll(found.cursor)).toMatchObject({ events: [], hasMore: false });

    const page = await poll(now.cursor, { maxEvents: 1 });
    expect([idsOf(page), page.hasMore, page.nextPollMs]).toEqual([[second], true, 0]);
    expect(idsOf(await poll(page.cursor))).toEqual([third]);
    const closed = await poll(now.cursor, { arguments: { action: "closed", number: 7 } });
    expect(idsOf(closed)).toEqual([third]);
    // Cursors after the end of the log, and of another log.
    for (const lost of ["999", "1@0a1b2c3d"])
      expect(await poll(lost)).toMatchObject({ events: [], truncated: true, cursor: found.cursor });
    expect(idsOf(await poll("1"))).toEqual([second, third]);
    expect(await poll("0", { maxAgeMs: 0 })).toMatchObject({ events: [], truncated: true });
  });

  it("returns errors that name the invalid field", async () => {
    const one = await setup();
    const client = await connect(one.hub);
    const poll = (params: object) => refusalOf(client.request("events/poll", params));
    const name = "github.issues";
    const invalid = (message: RegExp) => ({
      code: -32602,
      message: expect.stringMatching(message),
    });
    expect(await poll({})).toMatchObject(invalid(/name: /));
    expect(await poll({ name, arguments: { colour: 1 } })).toMatchObject(
      invalid(/arguments: .*colour/),
    );
    expect(await poll({ name, arguments: { number: "7" } })).toMatchObject(
      invalid(/arguments\.number: /),
    );
    expect(await poll({ name, cursor: "nonsense" })).toMatchObject(invalid(/cursor: /));
    expect(await poll({ name, maxEvents: 1_001 })).toMatchObject(invalid(/maxEvents: .*1000/));
    expect(await poll({ name, maxAgeMs: -1 })).toMatchObject(invalid(/maxAgeMs: /));
    for (const unknown of ["github.no_such_type", "nobody.issues", "issues", "constructor.x"])
      expect(await poll({ name: unknown })).toMatchObject({
        code: -32011,
        message: expect.stringContaining(unknown),
        data: { kind: "event" },
      });
    expect(await refusalOf(client.request("events/list", { cursor: "nonsense" }))).toMatchObject(
      invalid(/cursor: /),
    );
  });

  it("streams missed and new events, and resumes after its cursor", async () => {
    const one = await setup();
    const client = await connect(one.hub);
    const before = await send(one);
    const gone = new AbortController();
    const params = { name: "github.issues", arguments: { repo: "octo/town" }, cursor: "0" };
    const stream = client.request("events/stream", params, { signal: gone.signal });
    stream.catch(() => {});
    const events = () =>
      client.heard.flatMap(({ method, params }) =>
        method === "notifications/events/event" ? [params] : [],
      );
    await vi.waitFor(() => expect(events()).toHaveLength(1), PATIENCE);
    await send(one, {}, { type: "push" });
    await send(one, { repository: { full_name: "other/place" } });
    const after = await send(one);
    await vi.waitFor(() => expect(events()).toHaveLength(2), PATIENCE);
    expect(events().map(({ eventId }) => eventId)).toEqual([before, after]);
    expect(client.heard[0]).toMatchObject({
      method: "notifications/events/active",
      params: { cursor: expect.stringMatching(/^0@/), truncated: false },
    });
    const ids = new Set(client.heard.map(({ params }) => params._meta[SUBSCRIPTION_ID]));
    expect([...ids]).toEqual([expect.anything()]);

    gone.abort();
    const missed = await send(one);
    const last = events().at(-1)?.cursor;
    const again = await client.request("events/poll", { ...params, cursor: last });
    expect(idsOf(again)).toEqual([missed]);
  });

  it("gets `terminated` when the token is revoked or the hub stops", async () => {
    const one = await setup();
    const { id, token } = await one.token();
    const [revoked, stopped] = [await connect(one.hub, token), await connect(one.hub)];
    const ends = [revoked, stopped].map((client) =>
      client.request("events/stream", { name: "github.issues", cursor: null }),
    );
    for (const { heard } of [revoked, stopped])
      await vi.waitFor(() => expect(heard).toHaveLength(1), PATIENCE);
    await one.revoke(id);
    await ends[0];
    expect(revoked.heard.at(-1)).toMatchObject({
      method: "notifications/events/terminated",
      params: { reason: "forbidden", cursor: expect.stringMatching(/^0@/) },
    });
    expect(stopped.heard).toHaveLength(1);
    expect(await one.hub.stop()).toBe(0);
    await ends[1]?.catch(() => {});
    expect(stopped.heard.at(-1)).toMatchObject({
      method: "notifications/events/terminated",
      params: { reason: "shutting_down" },
    });
  });
});

/** Read from the raw response, because the SDK's client drops unknown capabilities. */
async function capabilities(url: string, method: string, params: object): Promise<unknown> {
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${ADMIN}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(method === "initialize"
        ? {}
        : { "mcp-method": method, "mcp-protocol-version": "2026-07-28" }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const text = await response.text();
  const json = text.startsWith("{") ? text : (/^data: (.+)$/m.exec(text)?.[1] ?? "");
  return (JSON.parse(json) as { result: { capabilities: unknown } }).result.capabilities;
}

const openings = [
  [
    "initialize",
    { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } },
  ],
  [
    "server/discover",
    {
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "x", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    },
  ],
] as const;

it("declares the events capability in both generations, unless the draft is disabled", async () => {
  const [on, off] = [await setup(), await setup({ SIGNALBOX_EVENTS_DRAFT: "off" })];
  for (const [method, params] of openings) {
    expect(await capabilities(on.hub.url, method, params)).toMatchObject({
      events: { listChanged: true },
    });
    expect(await capabilities(off.hub.url, method, params)).not.toHaveProperty("events");
  }
  for (const [, connect] of eras) {
    const client = await connect(off.hub);
    expect((await refusalOf(client.request("events/list", {}))).message).toMatch(/not found/i);
  }
});

it.each(eras)("%s gets no events of another tenant", async (_, connect) => {
  const one = await setup({ SIGNALBOX_TENANCY: "github" });
  const tenancy = ["--tenancy", "github"];
  const [mine, theirs] = [await one.token("--tenant", "1", ...tenancy), "2"];
  const client = await connect(one.hub, mine.token);
  const of = (account: string) => ({
    repository: { ...issueOpened.repository, owner: { id: Number(account), login: `a${account}` } },
    installation: { id: Number(account) },
  });
  const now = await client.request("events/poll", { name: "github.issues", cursor: null });
  await send(one, of(theirs), { type: "their_own_type" });
  await send(one, of(theirs));
  const stream = client.request("events/stream", { name: "github.issues", cursor: "0" });
  stream.catch(() => {});
  const own = await send(one, of("1"));
  const heard = () => client.heard.map(({ params }) => params.eventId).filter(Boolean);
  await vi.waitFor(() => expect(heard()).toEqual([own]), PATIENCE);
  expect(
    idsOf(await client.request("events/poll", { name: "github.issues", cursor: now.cursor })),
  ).toEqual([own]);
  const { nextCursor } = await client.request("events/list", {});
  expect(namesOf(await client.request("events/list", { cursor: nextCursor }))).toEqual([]);
  expect(
    await refusalOf(client.request("events/poll", { name: "github.their_own_type" })),
  ).toMatchObject({ code: -32011 });
  expect(
    await client.request("events/poll", { name: "github.issues", cursor: "2:0" }),
  ).toMatchObject({ events: [] });
});
