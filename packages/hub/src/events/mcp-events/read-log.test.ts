import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import { storeDefinition } from "../../store.ts";
import { type Cursor, encodeCursor } from "../inbox/cursor.ts";
import type { NewEvent } from "../model.ts";
import {
  allEvents,
  appendEvents,
  appendInChunks,
  DAY,
  itemAt,
  SECOND,
  START,
  sampleEvent,
  sampleEvents,
} from "../store/contract/sample.ts";
import type { EventFilter } from "./event-types.ts";
import { MAX_BODY_BYTES, payloadSchema } from "./protocol.ts";
import { findStart, readLog, toOccurrence } from "./read-log.ts";

function open() {
  const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  onTestFinished(() => store.close());
  return store;
}

const issues: EventFilter = { source: "github", type: "issues", narrowing: {} };
const OTHER_LOG = "0".repeat(32);
const from = (position: number, tenant = "acme"): Cursor => new Map([[tenant, position]]);

describe("readLog", () => {
  it("finds every matching event once, in log order, across pages and from any cursor", async () => {
    const store = open();
    let run = 0;
    const anyEvent = fc.record({
      tenant: fc.constantFrom("a", "b", "c"),
      type: fc.constantFrom("issues", "push"),
      repo: fc.constantFrom("x", "y"),
      at: fc.nat(5),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyEvent, { maxLength: 40 }),
        fc.integer({ min: 1, max: 7 }),
        fc.option(fc.constantFrom("x", "y"), { nil: undefined }),
        async (events, limit, repo) => {
          run += 1;
          const tenants = ["a", "b", "c"].map((name) => `${name} ${run}`);
          const stored: Record<string, string[]> = Object.fromEntries(
            tenants.map((name) => [name, []]),
          );
          for (const { tenant, type, repo: eventRepo, at } of events) {
            const event = sampleEvent({ type, repo: eventRepo, received_at: START + at });
            await appendEvents(store, [event], `${tenant} ${run}`);
            if (type === "issues" && (repo === undefined || eventRepo === repo))
              stored[`${tenant} ${run}`]?.push(event.id);
          }
          const filter = { ...issues, narrowing: { repo } };
          const matches: { id: string; tenant: string; cursor: Cursor }[] = [];
          let after: Cursor = new Map(tenants.map((tenant) => [tenant, 0]));
          for (let hasMore = true; hasMore; ) {
            const page = await readLog(store, { tenants, after, filter, limit });
            expect(page.matches.length).toBeLessThanOrEqual(limit);
            for (const { event, cursor } of page.matches)
              matches.push({ id: event.id, tenant: event.tenant, cursor });
            ({ end: after, hasMore } = page);
          }
          for (const tenant of tenants)
            expect(matches.filter((match) => match.tenant === tenant).map(({ id }) => id)).toEqual(
              stored[tenant],
            );
          // A read from the cursor of an event returns exactly the events after it.
          const middle = Math.floor(matches.length / 2);
          const cursor = matches[middle]?.cursor;
          if (!cursor) return;
          const page = await readLog(store, { tenants, after: cursor, filter, limit: 100 });
          expect(page.matches.map(({ event }) => event.id).sort()).toEqual(
            matches
              .slice(middle + 1)
              .map(({ id }) => id)
              .sort(),
          );
        },
      ),
      { numRuns: 60 },
    );
  });

  it("stops at the limit of scanned rows, and reports that there is more", async () => {
    const store = open();
    await appendInChunks(store, [...sampleEvents(6_000, () => ({ type: "push" })), sampleEvent()]);
    const first = await readLog(store, {
      tenants: ["acme"],
      after: from(0),
      filter: issues,
      limit: 10,
    });
    expect(first).toMatchObject({ matches: [], hasMore: true });
    const second = await readLog(store, {
      tenants: ["acme"],
      after: first.end,
      filter: issues,
      limit: 10,
    });
    expect(second.matches.map(({ event }) => event.seq)).toEqual([6_001]);
    expect(second.hasMore).toBe(false);
  });

  it("ends a page early when the payloads are large, but not before the first event", async () => {
    const store = open();
    await appendEvents(
      store,
      sampleEvents(3, () => ({ body: new Uint8Array(100) })),
    );
    const read = (maxBytes: number) =>
      readLog(store, { tenants: ["acme"], after: from(0), filter: issues, limit: 10, maxBytes });
    expect((await read(1)).matches).toHaveLength(1);
    expect(await read(250)).toMatchObject({ matches: [{}, {}], hasMore: true, end: from(2) });
  });
});

describe("findStart", () => {
  it("returns the cursor, or the end of the log if there is no cursor", async () => {
    const store = open();
    await appendEvents(store, sampleEvents(3));
    expect(await findStart(store, ["acme"], null, undefined)).toMatchObject({
      from: from(3),
      truncated: false,
    });
    expect(await findStart(store, ["acme"], "2", undefined)).toMatchObject({
      from: from(2),
      truncated: false,
    });
    expect(await findStart(store, ["unknown"], null, undefined)).toMatchObject({
      from: from(0, "unknown"),
      truncated: false,
    });
    await expect(findStart(store, ["acme"], "what?", undefined)).rejects.toMatchObject({
      field: "cursor",
    });
  });

  it("reports truncation if events were removed, or the cursor is ahead of the log or of another log", async () => {
    const store = open();
    const events = sampleEvents(3);
    await appendEvents(store, events);
    await store.markProcessed("acme", [events[1].id], START, null);
    await store.sweep({ now: START, processedFor: 0, pendingFor: DAY, maxBytes: 1e9, limit: 9 });
    expect(await findStart(store, ["acme"], "1", undefined)).toMatchObject({
      from: from(1),
      truncated: true,
    });
    expect(await findStart(store, ["acme"], "2", undefined)).toMatchObject({
      from: from(2),
      truncated: false,
    });
    expect(await findStart(store, ["acme"], "4", undefined)).toMatchObject({
      from: from(3),
      truncated: true,
    });
    const { logId } = await findStart(
      store,
      ["acme"],
      encodeCursor(from(2), ["acme"], OTHER_LOG),
      0,
    );
    expect(await findStart(store, ["acme"], encodeCursor(from(2), ["acme"], OTHER_LOG), 0)).toEqual(
      {
        from: from(3),
        truncated: true,
        logId,
      },
    );
    expect(
      await findStart(store, ["acme"], encodeCursor(from(2), ["acme"], logId), undefined),
    ).toEqual({ from: from(2), truncated: false, logId });
    const beforeFailover = `${logId.slice(0, 6)}${logId.slice(6, 8) === "00" ? "01" : "00"}`;
    expect(
      await findStart(store, ["acme"], encodeCursor(from(2), ["acme"], beforeFailover), undefined),
    ).toEqual({ from: from(2), truncated: true, logId });
  });

  it("skips events that are older than the maximum age", async () => {
    const store = open();
    await appendEvents(
      store,
      sampleEvents(50, (index) => ({ received_at: START + index * SECOND })),
    );
    for (const position of [0, 7, 49, 50])
      for (const seconds of [-1, 0, 1, 6, 7, 8, 30, 48, 49, 50, 99])
        expect(
          await findStart(store, ["acme"], String(position), START + seconds * SECOND),
        ).toMatchObject({
          from: from(Math.max(position, Math.min(Math.max(seconds, 0), 50))),
          truncated: Math.min(seconds, 50) > position,
        });
  });
});

async function occurrenceOf(fields: Partial<NewEvent>) {
  const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  onTestFinished(() => store.close());
  await appendEvents(store, [sampleEvent({ received_at: START, ...fields })]);
  const event = itemAt(await allEvents(store), 0);
  return { event, occurrence: await toOccurrence(store, event, "7") };
}
const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

it("includes the event's summary and payload", async () => {
  const { event, occurrence } = await occurrenceOf({ external_id: "d-1", body: json({ a: [1] }) });
  expect(occurrence).toEqual({
    eventId: "d-1",
    name: "github.issues",
    timestamp: "2026-01-01T00:00:00.000Z",
    cursor: "7",
    data: {
      event_id: event.id,
      seq: 1,
      source: "github",
      type: "issues",
      received_at: "2026-01-01T00:00:00.000Z",
      action: "opened",
      repo: "acme/web",
      sender: "ada",
      number: event.number,
      title: event.title,
      url: event.url,
      payload: { a: [1] },
    },
  });
});

it("includes the event's check result", async () => {
  const check_result = { conclusion: "failure", head_branch: "main", head_sha: "abc" };
  const { occurrence } = await occurrenceOf({ check_result });
  expect(occurrence.data).toMatchObject(check_result);
  expect(payloadSchema.parse(occurrence.data)).toEqual(occurrence.data);
});

it.each([
  ["a large payload", json({ text: "x".repeat(MAX_BODY_BYTES) })],
  ["a payload that is too large with its summary", json({ text: "x".repeat(MAX_BODY_BYTES - 20) })],
  ["a payload that grows when it is serialized", json({ text: "\u0001".repeat(50_000) })],
])("omits %s, and sets payload_omitted", async (_, body) => {
  const { occurrence } = await occurrenceOf({ body });
  expect(occurrence.data).toMatchObject({ payload_omitted: true });
  expect(occurrence.data).not.toHaveProperty("payload");
  expect(JSON.stringify(occurrence).length).toBeLessThan(2_000);
});

it.each([null, "", "a b", "a\nb", "é", "x".repeat(257)])(
  "uses the hub's id if the sender's id is not valid in a header: %j",
  async (external_id) => {
    const { event, occurrence } = await occurrenceOf({ external_id });
    expect(occurrence.eventId).toBe(event.id);
  },
);
