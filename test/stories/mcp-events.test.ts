/** Clients of two protocol versions list, poll and stream events with the MCP Events draft. */
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
      const lastPage = await client.request("events/list", { cursor: first.nextCursor });
      expect(namesOf(lastPage)).toEqual(["github.brand_new_type"]);
      expect(lastPage.nextCursor).toBeUndefined();
    });

    it("polls each new event once, and can filter events by arguments", async () => {
      const fixture = await startFixture(host);
      const client = await connect(fixture.hub);
      await send(fixture);
      const poll = (cursor: unknown, extraParams = {}) =>
        client.request("events/poll", {
          name: "github.issues",
          arguments: {},
          cursor,
          ...extraParams,
        });
      // The cursor `null` means the end of the log.
      const end = await poll(null);
      expect(end).toMatchObject({ events: [], truncated: false, hasMore: false });
      const [second, third] = [await send(fixture), await send(fixture, { action: "closed" })];
      await send(fixture, {}, { type: "push" });

      const polled = await poll(end.cursor);
      expect(idsOf(polled)).toEqual([second, third]);
      expect((polled.events as unknown[])[0]).toMatchObject({
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
      expect(await poll(polled.cursor)).toMatchObject({ events: [], hasMore: false });

      const page = await poll(end.cursor, { maxEvents: 1 });
      expect([idsOf(page), page.hasMore, page.nextPollMs]).toEqual([[second], true, 0]);
      expect(idsOf(await poll(page.cursor))).toEqual([third]);
      const closed = await poll(end.cursor, { arguments: { action: "closed", number: 7 } });
      expect(idsOf(closed)).toEqual([third]);
      // A cursor after the end of the log, and a cursor of another log.
      for (const invalidCursor of ["999", "1@0a1b2c3d"])
        expect(await poll(invalidCursor)).toMatchObject({
          events: [],
          truncated: true,
          cursor: polled.cursor,
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

    it("streams missed and new events, and continues with a poll after the last cursor", async () => {
      const fixture = await startFixture(host);
      const client = await connect(fixture.hub);
      const missedEvent = await send(fixture);
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
      const newEvent = await send(fixture);
      await vi.waitFor(() => expect(events()).toHaveLength(2), WAIT);
      expect(events().map(({ eventId }) => eventId)).toEqual([missedEvent, newEvent]);
      expect(client.notifications[0]).toMatchObject({
        method: "notifications/events/active",
        params: { cursor: expect.stringMatching(/^0@/), truncated: false },
      });
      const subscriptionIds = new Set(
        client.notifications.map(({ params }) => params._meta[SUBSCRIPTION_ID]),
      );
      expect([...subscriptionIds]).toEqual([expect.anything()]);

      // Read before `abort`: until the hub gets the cancellation, the stream may send the next event too.
      const lastCursor = events().at(-1)?.cursor;
      abort.abort();
      const laterEvent = await send(fixture);
      const resumed = await client.request("events/poll", { ...params, cursor: lastCursor });
      expect(idsOf(resumed)).toEqual([laterEvent]);
    });

    it("gets `terminated` when the token is revoked", async () => {
      const fixture = await startFixture(host);
      const { id, token } = await fixture.token();
      const [revokedClient, otherClient] = [
        await connect(fixture.hub, token),
        await connect(fixture.hub),
      ];
      const [revokedStream] = [revokedClient, otherClient].map((client) => {
        const stream = client.request("events/stream", { name: "github.issues", cursor: null });
        stream.catch(() => {});
        return stream;
      });
      for (const { notifications } of [revokedClient, otherClient])
        await vi.waitFor(() => expect(notifications).toHaveLength(1), WAIT);
      await fixture.revoke(id);
      await revokedStream;
      expect(revokedClient.notifications.at(-1)).toMatchObject({
        method: "notifications/events/terminated",
        params: { reason: "forbidden", cursor: expect.stringMatching(/^0@/) },
      });
      expect(otherClient.notifications).toHaveLength(1);
    });

    it("gets `terminated` when the hub stops", async ({ skip }) => {
      skip(host === "workerd", "a Worker is not notified before it stops");
      const fixture = await startFixture(host);
      const client = await connect(fixture.hub);
      const stream = client.request("events/stream", { name: "github.issues", cursor: null });
      await vi.waitFor(() => expect(client.notifications).toHaveLength(1), WAIT);
      expect(await fixture.hub.stop()).toBe(0);
      await stream.catch(() => {});
      expect(client.notifications.at(-1)).toMatchObject({
        method: "notifications/events/terminated",
        params: { reason: "shutting_down" },
      });
    });
  });

  it("the hub declares the events capability in both protocol versions, unless the draft is disabled", async () => {
    const [enabled, disabled] = [
      await startFixture(host),
      await startFixture(host, { SIGNALBOX_EVENTS_DRAFT: "off" }),
    ];
    for (const [method, params] of firstRequests) {
      expect(await getCapabilities(enabled.hub.url, method, params)).toMatchObject({
        events: { listChanged: true },
      });
      expect(await getCapabilities(disabled.hub.url, method, params)).not.toHaveProperty("events");
    }
    for (const [, connect] of clients) {
      const client = await connect(disabled.hub);
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
    const end = await client.request("events/poll", { name: "github.issues", cursor: null });
    await send(fixture, ownedBy(2), { type: "their_own_type" });
    await send(fixture, ownedBy(2));
    const stream = client.request("events/stream", { name: "github.issues", cursor: "0" });
    stream.catch(() => {});
    const own = await send(fixture, ownedBy(1));
    const received = () => client.notifications.map(({ params }) => params.eventId).filter(Boolean);
    await vi.waitFor(() => expect(received()).toEqual([own]), WAIT);
    expect(
      idsOf(await client.request("events/poll", { name: "github.issues", cursor: end.cursor })),
    ).toEqual([own]);
    const { nextCursor } = await client.request("events/list", {});
    expect(namesOf(await client.request("events/list", { cursor: nextCursor }))).toEqual([]);
    expect(
      await errorOf(client.request("events/poll", { name: "github.their_own_type" })),
    ).toMatchObject({ code: -32011 });
    // A cursor that refers to the log of tenant 2.
    expect(
      await client.request("events/poll", { name: "github.issues", cursor: "2:0" }),
    ).toMatchObject({ events: [] });
  });
});
