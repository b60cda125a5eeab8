/** Tests one stream, with a real log and a fake client. */
import { expect, it, onTestFinished, vi } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { createAuthorizer } from "../../kernel/access/authorizer.ts";
import { createStreamSlots } from "../../kernel/access/stream-slots.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import { type Store, storeDefinition } from "../../store.ts";
import { createToken } from "../../tokens/tokens.ts";
import { createFeed } from "../live/feed.ts";
import {
  appendEvents,
  appendInChunks,
  START,
  sampleEvent,
  sampleEvents,
} from "../store/contract/sample.ts";
import { streamParams } from "./protocol.ts";
import { createEventStreams, type StreamOptions, streamEvents } from "./stream.ts";

interface Notification {
  method: string;
  params: Record<string, unknown>;
}

async function setup(
  options: StreamOptions = {},
  wrapStore: (store: Store) => Store = (store) => store,
) {
  const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  await createToken(store, {
    id: "ada",
    name: "Ada",
    scopes: ["inbox:read"],
    tenants: ["acme"],
    expiresAt: null,
    now: START,
  });
  const feed = createFeed(store);
  const streams = createEventStreams({ heartbeatMs: 3_600_000, checkMs: 5, ...options });
  onTestFinished(async () => {
    await streams.close();
    feed.close();
    await store.close();
  });
  let at = START;
  const subscriber = {
    subscribe: () => Promise.reject(new Error("unexpected call")),
    unsubscribe: () => Promise.reject(new Error("unexpected call")),
  };
  const context = {
    store: wrapStore(store),
    feed,
    streamSlots: createStreamSlots({
      authorizer: createAuthorizer({ store, now: () => at, everyTenant: undefined }),
      max: 4_096,
    }),
    now: () => at,
    streams,
    subscriber,
    onError: () => {},
  };
  const open = (params: object = {}) => {
    const received: Notification[] = [];
    const onDrain: (() => void)[] = [];
    const abort = new AbortController();
    const client = {
      received,
      full: false,
      /** The client stops reading after this many messages. */
      fullAfter: Number.POSITIVE_INFINITY,
      aborted: false,
      disconnect: () => abort.abort(),
      drain: () => {
        for (const drained of onDrain) drained();
      },
    };
    const backPressure = {
      isFull: () => client.full,
      onDrain: (drained: () => void) => void onDrain.push(drained),
      onClose: () => {},
      addUnread: () => {},
      abort: () => {
        client.aborted = true;
      },
      track: (response: Response) => response,
    };
    const access = {
      token: "ada",
      name: "Ada",
      scopes: ["inbox:read" as const],
      tenants: ["acme"],
    };
    const ended = streamEvents(
      context,
      { access, backPressure, reserveBytes: async () => {} },
      streamParams.parse({ name: "github.issues", cursor: "0", ...params }),
      {
        id: 7,
        signal: abort.signal,
        async notify(notification) {
          received.push(notification);
          if (received.length >= client.fullAfter) client.full = true;
        },
      },
    );
    ended.catch(() => {});
    return Object.assign(client, { ended });
  };
  return { store, streams, open, advance: (ms: number) => (at += ms) };
}

const events = (received: Notification[]) =>
  received.flatMap(({ method, params }) =>
    method === "notifications/events/event" ? [(params.data as { seq: number }).seq] : [],
  );
const ofKind = (received: Notification[], kind: string) =>
  received.filter(({ method }) => method === `notifications/events/${kind}`);

/** Waits for work without timers. Some rounds are enough, because SQLite is synchronous. */
async function settle(): Promise<void> {
  for (let round = 0; round < 50; round += 1) await new Promise((resolve) => setImmediate(resolve));
}

it("sends heartbeats with a cursor after all sent and all non-matching events", async () => {
  const { store, open } = await setup({ heartbeatMs: 10 });
  await appendEvents(store, [sampleEvent(), sampleEvent({ type: "push" })]);
  const { received } = open();
  await vi.waitFor(
    () => expect(ofKind(received, "heartbeat").at(-1)?.params.cursor).toMatch(/^2@/),
    60_000,
  );
  await appendEvents(store, [sampleEvent({ type: "push" })]);
  await vi.waitFor(
    () => expect(ofKind(received, "heartbeat").at(-1)?.params.cursor).toMatch(/^3@/),
    60_000,
  );
  expect(events(received)).toEqual([1]);
  expect(
    received.every(
      ({ params }) =>
        JSON.stringify(params._meta) === '{"io.modelcontextprotocol/subscriptionId":7}',
    ),
  ).toBe(true);
});

it("queues a few events for a slow client, and loses none", async () => {
  const { store, open } = await setup();
  let payloads = 0;
  const { getPayload } = store;
  store.getPayload = (...args) => {
    payloads += 1;
    return getPayload(...args);
  };
  await appendInChunks(store, sampleEvents(2_500));
  const client = open();
  client.full = true;
  await vi.waitFor(() => expect(ofKind(client.received, "active")).toHaveLength(1), 60_000);
  await appendEvents(store, sampleEvents(10));
  await settle();
  expect(events(client.received)).toEqual([]);
  expect(payloads).toBe(0);
  client.full = false;
  client.fullAfter = 4;
  client.drain();
  await settle();
  expect(events(client.received)).toEqual([1, 2, 3]);
  client.full = false;
  client.fullAfter = Number.POSITIVE_INFINITY;
  client.drain();
  await vi.waitFor(() => expect(events(client.received)).toHaveLength(2_510), 60_000);
  expect(events(client.received)).toEqual(Array.from({ length: 2_510 }, (_, at) => at + 1));
});

it("disconnects a client that has stopped reading", async () => {
  const { store, open, advance } = await setup({ stallMs: 30_000 });
  await appendEvents(store, [sampleEvent()]);
  const client = open();
  client.full = true;
  await vi.waitFor(() => expect(ofKind(client.received, "active")).toHaveLength(1), 60_000);
  await appendEvents(store, [sampleEvent()]);
  await vi.waitFor(() => {
    advance(10_000);
    expect(client.aborted).toBe(true);
  }, 60_000);
  expect(await client.ended).toEqual({});
});

it("sends an error if an event cannot be read, and retries", async () => {
  let broken = true;
  const { store, open } = await setup({ retryMs: 5 }, (real) => ({
    ...real,
    getPayload: (...args) =>
      broken ? Promise.reject(new Error("the disk failed")) : real.getPayload(...args),
  }));
  await appendEvents(store, sampleEvents(2));
  const { received } = open();
  await vi.waitFor(() => expect(ofKind(received, "error").length).toBeGreaterThan(0), 60_000);
  expect(JSON.stringify(received)).not.toContain("disk");
  broken = false;
  await vi.waitFor(() => expect(events(received)).toEqual([1, 2]), 60_000);
});

it("limits the open streams of a token", async () => {
  const { open, streams } = await setup({ maxPerToken: 2 });
  const [first, second] = [open(), open()];
  for (const { received } of [first, second])
    await vi.waitFor(() => expect(received).toHaveLength(1), 60_000);
  await expect(open().ended).rejects.toMatchObject({ code: -32013, data: { limit: 2 } });
  first.disconnect();
  await first.ended;
  const third = open();
  await vi.waitFor(() => expect(third.received).toHaveLength(1), 60_000);
  await streams.close();
  expect(ofKind(third.received, "terminated")).toHaveLength(1);
  expect(streams.open.size).toBe(0);
});

it("sends one list_changed for several new event types, and none for known or processed ones", async () => {
  const { store, open } = await setup();
  const other = (type: string) => sampleEvent({ source: "custom", type });
  const done = other("done");
  await appendEvents(store, [other("known"), done]);
  await store.markProcessed("acme", [done.id], START, null);
  const client = open();
  await appendEvents(store, [sampleEvent(), other("known"), sampleEvent({ type: "push" })]);
  await vi.waitFor(() => expect(events(client.received)).toHaveLength(1), 60_000);
  client.full = true;
  await appendEvents(store, [other("new"), other("newer"), other("new")]);
  await settle();
  expect(ofKind(client.received, "list_changed")).toEqual([]);
  client.full = false;
  client.drain();
  await vi.waitFor(() => expect(ofKind(client.received, "list_changed")).toHaveLength(1), 60_000);
  await appendEvents(store, [other("new"), other("newest")]);
  await vi.waitFor(() => expect(ofKind(client.received, "list_changed")).toHaveLength(2), 60_000);
});

it("ends immediately if the client disconnects before the stream starts", async () => {
  const { streams, open } = await setup();
  const client = open();
  client.disconnect();
  expect(await client.ended).toEqual({});
  expect(streams.open.size).toBe(0);
});
