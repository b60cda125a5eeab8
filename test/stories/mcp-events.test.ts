/** The draft of MCP Events: clients of two protocol versions use the built hub. */
import { describe, expect, it, vi } from "vitest";
import { issueOpened } from "../support/deliver.ts";
import {
  ADMIN,
  clients,
  errorOf,
  idsOf,
  namesOf,
  send,
  startFixture,
} from "../support/events-client.ts";
import { hosts } from "../support/hosts.ts";
import { WAIT } from "../support/timeouts.ts";

const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";

/** Reads the raw response, because the SDK's client drops unknown capabilities. */
async function getCapabilities(url: string, method: string, params: object): Promise<unknown> {
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

const firstRequests = [
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

describe.each(hosts)("on %s", (host) => {
  describe.each(clients)("%s", (_, connect) => {
    it("lists declared and stored event types in pages", async () => {
      const fixture = await startFixture(host);
      const client = await connect(fixture.hub);
      await send(fixture, {}, { type: "brand_new_type" });
      const first = await client.request("events/list", {});
      expect(namesOf(first)).toContain("github.issues");
      expect((first.events as unknown[])[0]).toMatchObject({
        delivery: ["poll", "push", "webhook"],
        inputSchema: {
          type: "object",
          properties: { repo: {}, action: {}, sender: {}, number: {} },
        },
        payloadSchema: { type: "object" },
      });
      const rest = await client.request("events/list", { cursor: first.nextCursor });
      expect(namesOf(rest)).toEqual(["github.brand_new_type"]);
      expect(rest.nextCursor).toBeUndefined();
    });

    it("polls new events once, filtered by arguments", async () => {
      const fixture = await startFixture(host);
      const client = await connect(fixture.hub);
      await send(fixture);
      const poll = (cursor: unknown, more = {}) =>
        client.request("events/poll", { name: "github.issues", arguments: {}, cursor, ...more });
      const now = await poll(null);
      expect(now).toMatchObject({ events: [], truncated: false, hasMore: false });
      const [second, third] = [await send(fixture), await send(fixture, { action: "closed" })];
      await send(fixture, {}, { type: "push" });

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
      // A cursor after the end of the log, and a cursor of another log.
      for (const invalid of ["999", "1@0a1b2c3d"])
        expect(await poll(invalid)).toMatchObject({
          events: [],
          truncated: true,
          cursor: found.cursor,
        });
      expect(idsOf(await poll("1"))).toEqual([second, third]);
      expect(await poll("0", { maxAgeMs: 0 })).toMatchObject({ events: [], truncated: true });
    });

    it("gets errors that name the invalid field", async () => {
      const fixture = await startFixture(host);
      const client = await connect(fixture.hub);
      const poll = (params: object) => errorOf(client.request("events/poll", params));
      const name = "github.issues";
      const invalid = (message: RegExp) => ({
        code: -32602,
        message: expect.stringMatching(message),
      });
      expect(await poll({})).toMatchObject(invalid(/name: /));
      expect(await poll({ name, arguments: { colour: 1 } })).toMatchObject(
        invalid(/arguments\.colour: unexpected argument/),
      );
      expect(await poll({ name, arguments: { number: "7" } })).toMatchObject(
        invalid(/arguments\.number: /),
      );
      expect(await poll({ name, cursor: "nonsense" })).toMatchObject(invalid(/cursor: /));
      expect(await poll({ name, maxEvents: 1_001 })).toMatchObject(invalid(/maxEvents: .*1000/));
      expect(await poll({ name, maxAgeMs: -1 })).toMatchObject(invalid(/maxAgeMs: /));
      for (const unknown of [
        "github.no_such_type",
        "no_such_source.issues",
        "issues",
        "constructor.x",
      ])
        expect(await poll({ name: unknown })).toMatchObject({
          code: -32011,
          message: expect.stringContaining(unknown),
          data: { kind: "event" },
        });
      expect(await errorOf(client.request("events/list", { cursor: "nonsense" }))).toMatchObject(
        invalid(/cursor: /),
      );
    });

    it("streams missed and new events, and resumes after its cursor", async () => {
      const fixture = await startFixture(host);
      const client = await connect(fixture.hub);
      const before = await send(fixture);
      const abort = new AbortController();
      const params = { name: "github.issues", arguments: { repo: "octo/town" }, cursor: "0" };
      const stream = client.request("events/stream", params, { signal: abort.signal });
      stream.catch(() => {});
      const events = () =>
        client.notifications.flatMap(({ method, params }) =>
          method === "notifications/events/event" ? [params] : [],
        );
      await vi.waitFor(() => expect(events()).toHaveLength(1), WAIT);
      await send(fixture, {}, { type: "push" });
      await send(fixture, { repository: { full_name: "other/place" } });
      const after = await send(fixture);
      await vi.waitFor(() => expect(events()).toHaveLength(2), WAIT);
      expect(events().map(({ eventId }) => eventId)).toEqual([before, after]);
      expect(client.notifications[0]).toMatchObject({
        method: "notifications/events/active",
        params: { cursor: expect.stringMatching(/^0@/), truncated: false },
      });
      const ids = new Set(client.notifications.map(({ params }) => params._meta[SUBSCRIPTION_ID]));
      expect([...ids]).toEqual([expect.anything()]);

      // Before the cancellation arrives, the stream may still send the next event.
      const last = events().at(-1)?.cursor;
      abort.abort();
      const missed = await send(fixture);
      const again = await client.request("events/poll", { ...params, cursor: last });
      expect(idsOf(again)).toEqual([missed]);
    });

    it("gets `terminated` when the token is revoked", async () => {
      const fixture = await startFixture(host);
      const { id, token } = await fixture.token();
      const [revoked, other] = [await connect(fixture.hub, token), await connect(fixture.hub)];
      const [ended] = [revoked, other].map((client) => {
        const stream = client.request("events/stream", { name: "github.issues", cursor: null });
        stream.catch(() => {});
        return stream;
      });
      for (const { notifications } of [revoked, other])
        await vi.waitFor(() => expect(notifications).toHaveLength(1), WAIT);
      await fixture.revoke(id);
      await ended;
      expect(revoked.notifications.at(-1)).toMatchObject({
        method: "notifications/events/terminated",
        params: { reason: "forbidden", cursor: expect.stringMatching(/^0@/) },
      });
      expect(other.notifications).toHaveLength(1);
    });

    it("gets `terminated` when the hub stops", async ({ skip }) => {
      skip(host === "workerd", "a Worker is not notified before it stops");
      const fixture = await startFixture(host);
      const stopped = await connect(fixture.hub);
      const ended = stopped.request("events/stream", { name: "github.issues", cursor: null });
      await vi.waitFor(() => expect(stopped.notifications).toHaveLength(1), WAIT);
      expect(await fixture.hub.stop()).toBe(0);
      await ended.catch(() => {});
      expect(stopped.notifications.at(-1)).toMatchObject({
        method: "notifications/events/terminated",
        params: { reason: "shutting_down" },
      });
    });
  });

  it("the hub declares the events capability in both protocol versions, unless the draft is disabled", async () => {
    const [on, off] = [
      await startFixture(host),
      await startFixture(host, { SIGNALBOX_EVENTS_DRAFT: "off" }),
    ];
    for (const [method, params] of firstRequests) {
      expect(await getCapabilities(on.hub.url, method, params)).toMatchObject({
        events: { listChanged: true },
      });
      expect(await getCapabilities(off.hub.url, method, params)).not.toHaveProperty("events");
    }
    for (const [, connect] of clients) {
      const client = await connect(off.hub);
      expect((await errorOf(client.request("events/list", {}))).message).toMatch(/not found/i);
    }
  });

  it.each(clients)("%s gets no events of another tenant", async (_, connect) => {
    const fixture = await startFixture(host, { SIGNALBOX_TENANCY: "github" });
    const { token } = await fixture.token("--tenant", "1");
    const client = await connect(fixture.hub, token);
    const ownedBy = (account: number) => ({
      repository: { ...issueOpened.repository, owner: { id: account, login: `a${account}` } },
      installation: { id: account },
    });
    const now = await client.request("events/poll", { name: "github.issues", cursor: null });
    await send(fixture, ownedBy(2), { type: "their_own_type" });
    await send(fixture, ownedBy(2));
    const stream = client.request("events/stream", { name: "github.issues", cursor: "0" });
    stream.catch(() => {});
    const own = await send(fixture, ownedBy(1));
    const received = () => client.notifications.map(({ params }) => params.eventId).filter(Boolean);
    await vi.waitFor(() => expect(received()).toEqual([own]), WAIT);
    expect(
      idsOf(await client.request("events/poll", { name: "github.issues", cursor: now.cursor })),
    ).toEqual([own]);
    const { nextCursor } = await client.request("events/list", {});
    expect(namesOf(await client.request("events/list", { cursor: nextCursor }))).toEqual([]);
    expect(
      await errorOf(client.request("events/poll", { name: "github.their_own_type" })),
    ).toMatchObject({ code: -32011 });
    expect(
      await client.request("events/poll", { name: "github.issues", cursor: "2:0" }),
    ).toMatchObject({ events: [] });
  });
});
