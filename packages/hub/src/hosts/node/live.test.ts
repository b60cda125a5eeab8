/** Live streams on real sockets: frames, back-pressure, and the lifecycle of connections. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { rawExchange } from "../../../../../test/support/deliver.ts";
import { openSse } from "../../../../../test/support/sse.ts";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { createFeed } from "../../events/live/feed.ts";
import { createLiveStreams, type LiveStreamsOptions } from "../../events/live/live-streams.ts";
import type { NewEvent } from "../../events/model.ts";
import { appendEvents, sampleEvent, sampleEvents } from "../../events/store/contract/sample.ts";
import { createAuthorizeRequest } from "../../kernel/access/authorize-request.ts";
import { createAuthorizer } from "../../kernel/access/authorizer.ts";
import { MAX_TENANTS } from "../../kernel/access/scopes.ts";
import { createStreamSlots } from "../../kernel/access/stream-slots.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import type { Store } from "../../store.ts";
import { storeDefinition } from "../../store.ts";
import { createToken } from "../../tokens/tokens.ts";
import { createLiveTransport } from "./live.ts";
import { systemTimers } from "./ports.ts";

let store: Store;
let token: string;
let bearer: { authorization: string };
/** The server's sockets. */
let sockets: Set<Socket>;
let errors: unknown[];

beforeEach(async () => {
  store = openSqlite(storeDefinition, `${tempFolder()}/x.db`);
  token = await createToken(store, {
    id: "reader",
    name: "reader",
    scopes: ["inbox:read"],
    tenants: ["acme", "umbrella"],
    expiresAt: null,
    now: Date.now(),
  });
  bearer = { authorization: `Bearer ${token}` };
  sockets = new Set();
  errors = [];
});
afterEach(async () => {
  await store.close();
  expect(errors).toEqual([]);
});

const createAuthorization = (publicUrl?: string) => {
  const authorizer = createAuthorizer({ store, now: Date.now, everyTenant: undefined });
  const checkHost = () => undefined;
  return {
    recheck: authorizer.recheck,
    streamSlots: createStreamSlots({ authorizer, max: 4_096 }),
    authorizeRequest: createAuthorizeRequest({ authorizer, checkHost, publicUrl }),
  };
};

async function serve(options: Partial<LiveStreamsOptions> = {}): Promise<string> {
  const feed = createFeed(store);
  const onError = (error: unknown) => errors.push(error);
  const streams = createLiveStreams({
    store,
    feed,
    async *followRun() {},
    ...createAuthorization(),
    timers: systemTimers,
    onError,
    ...options,
  });
  const live = createLiveTransport({ streams, onError });
  const server: Server = createServer(live.serveSse)
    .on("upgrade", live.upgrade)
    .on("connection", (socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    })
    .listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    streams.close();
    feed.close();
    server.closeAllConnections();
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function openSocket(url: string, path: string, headers: Record<string, string> = bearer) {
  const socket = new WebSocket(`${url.replace("http", "ws")}${path}`, { headers });
  const messages: Record<string, unknown>[] = [];
  socket.on("message", (data) => messages.push(JSON.parse(String(data))));
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  onTestFinished(() => socket.terminate());
  return { socket, messages, closed };
}

const ACME_EVENTS = "/events?tenant=acme";

/** A client that is authorized and never reads. */
const connectAndNeverRead = (url: string, head: string) => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).pause();
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  socket.write(`${head}host: hub\r\nauthorization: ${bearer.authorization}\r\n\r\n`);
  return socket;
};
const stuckSse = (url: string) =>
  connectAndNeverRead(url, `GET ${ACME_EVENTS}&after=0 HTTP/1.1\r\n`);
const stuckSocket = (url: string) =>
  connectAndNeverRead(
    url,
    `GET ${ACME_EVENTS}&after=0 HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${"A".repeat(22)}==\r\n`,
  );

describe("the first frame and every heartbeat", () => {
  it("contain the cursor, on SSE also as the id, even if the last events do not match the filter", async () => {
    const url = await serve({ heartbeatMs: 20 });
    await appendEvents(store, sampleEvents(3));
    const sse = await openSse(`${url}${ACME_EVENTS}&type=push`, bearer);
    await expect
      .poll(() => sse.messages[0])
      .toEqual({
        id: "3",
        event: undefined,
        data: { status: "connected", cursor: "3", log: expect.any(String) },
      });
    const ws = openSocket(url, `${ACME_EVENTS}&type=push`);
    await expect.poll(() => ws.messages[0]).toEqual(sse.messages[0]?.data);
    await appendEvents(store, sampleEvents(2));
    const beat = { heartbeat: expect.any(Number), cursor: "5" };
    await expect.poll(() => sse.messages.at(-1)).toEqual({ id: "5", event: undefined, data: beat });
    await expect.poll(() => ws.messages.at(-1)).toEqual(beat);
    expect(sse.seqs()).toEqual([]);
    sse.close();
  });

  it("contain a cursor for each tenant; 0 is the start of all logs", async () => {
    const url = await serve();
    await appendEvents(store, sampleEvents(2));
    await appendEvents(store, [sampleEvent()], "umbrella");
    const fresh = await openSse(`${url}/events`, bearer);
    await expect.poll(() => fresh.lastId()).toBe("acme:2,umbrella:1");
    fresh.close();
    await appendEvents(store, [sampleEvent()], "umbrella");
    const resumed = await openSse(`${url}/events`, {
      ...bearer,
      "last-event-id": fresh.lastId() ?? "",
    });
    await expect.poll(resumed.seqs).toEqual([2]);
    resumed.close();
    const whole = await openSse(`${url}/events?after=0`, bearer);
    await expect.poll(() => whole.seqs().toSorted()).toEqual([1, 1, 2, 2]);
    expect(whole.messages[0]?.id).toBe("acme:0,umbrella:0");
    whole.close();
    // A browser that reconnects repeats the URL, and sends the newer cursor in the header.
    const again = await openSse(`${url}/events?after=0`, {
      ...bearer,
      "last-event-id": "acme:2,umbrella:2",
    });
    await expect.poll(() => again.messages[0]?.id).toBe("acme:2,umbrella:2");
    again.close();
  });
});

it("identifies the log in the first frame, independent of the token", async () => {
  const url = await serve();
  const logOf = async (tenants: string[], path = "/events") => {
    const options = { id: tenants.join("-"), name: "x", scopes: ["inbox:read" as const], tenants };
    const secret = await createToken(store, { ...options, expiresAt: null, now: Date.now() });
    const sse = await openSse(`${url}${path}`, { authorization: `Bearer ${secret}` });
    await expect.poll(() => sse.messages.length).toBe(1);
    sse.close();
    return sse.messages.map(({ data }) => (data as { log?: string }).log)[0];
  };
  const both = await logOf(["acme", "umbrella"]);
  expect(both).toMatch(/^[0-9a-f]{32}@[0-9a-f]{8}$/);
  expect(await store.getLogId()).toMatch(new RegExp(`^${both?.split("@")[1]}`));
  expect(await logOf(["umbrella", "acme"])).toBe(both);
  const acme = await logOf(["acme"]);
  expect(await logOf(["*"], ACME_EVENTS)).toBe(acme);
  expect(
    new Set([both, acme, await logOf(["umbrella"]), await logOf(["acme,umbrella"])]).size,
  ).toBe(4);
});

it("counts bytes in chunk sizes, and sends no chunks to an HTTP/1.0 client", async () => {
  const url = await serve();
  const { hostname, port } = new URL(url);
  const http10 = connect(Number(port), hostname).setEncoding("utf8");
  onTestFinished(() => void http10.destroy());
  let received = "";
  http10.on("data", (text: string) => {
    received += text;
  });
  http10.write(
    `GET ${ACME_EVENTS}&after=0 HTTP/1.0\r\nhost: hub\r\nauthorization: ${bearer.authorization}\r\n\r\n`,
  );
  const sse = await openSse(`${url}${ACME_EVENTS}&after=0`, bearer);
  const title = "Zürich → 東京 🚂";
  await appendEvents(store, [sampleEvent({ title }), sampleEvent({ title: "next" })]);
  const titles = () =>
    sse.messages.flatMap(
      ({ data }) => (data as { summary?: { title: string } }).summary?.title ?? [],
    );
  await expect.poll(titles).toEqual([title, "next"]);
  sse.close();
  const frames = () => received.split("\r\n\r\n")[1]?.split("\n\n") ?? [];
  await expect.poll(frames).toHaveLength(4);
  expect(received).not.toMatch(/transfer-encoding/i);
  expect(frames().map((frame) => frame.slice(0, 5))).toEqual(["id: 0", "id: 1", "id: 2", ""]);
  expect(frames()[1]).toContain(title);
});

it("reads the tenant from the query, then from the header", async () => {
  const url = await serve();
  await appendEvents(store, sampleEvents(2));
  await appendEvents(store, [sampleEvent()], "umbrella");
  const withTenant = { ...bearer, "x-signalbox-tenant": "umbrella" };
  for (const [path, cursor] of [
    ["/events", "1"],
    [ACME_EVENTS, "2"],
  ] as const) {
    const sse = await openSse(`${url}${path}`, withTenant);
    await expect.poll(() => sse.lastId()).toBe(cursor);
    sse.close();
  }
  const forbidden = await openSse(`${url}/events`, { ...bearer, "x-signalbox-tenant": "initech" });
  expect(forbidden.response.status).toBe(403);
});

it("ignores an empty filter", async () => {
  const url = await serve();
  await appendEvents(store, sampleEvents(2));
  const sse = await openSse(`${url}${ACME_EVENTS}&after=0&type=&repo=&source=`, bearer);
  await expect.poll(sse.seqs).toEqual([1, 2]);
  sse.close();
});

it("returns 405 for methods other than GET, and 401 without a token", async () => {
  const url = await serve(createAuthorization("https://hub.example/"));
  for (const method of ["HEAD", "POST", "DELETE"]) {
    const response = await fetch(`${url}${ACME_EVENTS}`, { method, headers: bearer });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET"]);
  }
  const { status, headers } = await fetch(`${url}${ACME_EVENTS}`);
  expect([status, headers.get("www-authenticate")]).toEqual([
    401,
    'Bearer scope="inbox:read", resource_metadata="https://hub.example/.well-known/oauth-protected-resource"',
  ]);
  const refused = new WebSocket(`${url.replace("http", "ws")}${ACME_EVENTS}`);
  const [, answer] = (await once(refused, "unexpected-response")) as [unknown, IncomingMessage];
  expect([answer.statusCode, answer.headers["www-authenticate"]]).toEqual([
    401,
    headers.get("www-authenticate"),
  ]);
  answer.destroy();
});

describe("a token in the query", () => {
  it("is accepted over SSE and WebSocket if there is no Authorization header", async () => {
    const url = await serve();
    await appendEvents(store, sampleEvents(1));
    const path = `${ACME_EVENTS}&after=0&token=`;
    const sse = await openSse(`${url}${path}${token}`, {});
    await expect.poll(sse.seqs).toEqual([1]);
    sse.close();
    const { messages } = openSocket(url, `${path}${token}`, {});
    await expect.poll(() => messages[1]).toMatchObject({ seq: 1 });
    const wrong = { authorization: "Bearer wrong" };
    expect((await openSse(`${url}${path}${token}`, wrong)).response.status).toBe(401);
    expect((await openSse(`${url}${path}`, {})).response.status).toBe(401);
  });

  it("appears neither in responses nor in errors", async () => {
    const url = await serve();
    const secret = "sbx_in_the_query";
    const unknown = await fetch(`${url}${ACME_EVENTS}&token=${secret}`);
    expect([unknown.status, await unknown.text()]).toEqual([
      401,
      expect.not.stringContaining(secret),
    ]);
    const invalidHost = await rawExchange(
      url,
      `GET /events?type=push&token=${secret} HTTP/1.1\r\nhost: [\r\nconnection: close\r\n\r\n`,
    );
    expect(invalidHost).not.toContain(secret);
    expect(errors).toMatchObject([{ code: "ERR_INVALID_URL" }]);
    expect(inspect(errors)).not.toContain(secret);
    errors = [];
  });
});

it("resumes after the longest possible cursor, from a header and from the query", async () => {
  const url = await serve();
  const tenants = Array.from({ length: MAX_TENANTS }, (_, at) => `${10 ** 14 + at} ❤`.slice(0, 16));
  const many = await createToken(store, {
    id: "many",
    name: "many",
    scopes: ["inbox:read"],
    tenants,
    expiresAt: null,
    now: Date.now(),
  });
  const headers = { authorization: `Bearer ${many}` };
  const fresh = await openSse(`${url}/events`, headers);
  await expect.poll(() => fresh.lastId()).toContain(`${tenants.at(-1)}:0`.slice(0, 15));
  const cursor = (fresh.lastId() ?? "").replaceAll(":0", `:${10 ** 15 - 1}`);
  fresh.close();
  for (const [path, more] of [
    ["/events", { "last-event-id": cursor }],
    [`/events?after=${encodeURIComponent(cursor)}`, {}],
  ] as const) {
    const resumed = await openSse(`${url}${path}`, { ...headers, ...more });
    expect(resumed.response.status).toBe(200);
    resumed.close();
  }
});

it("reports a cursor that is ahead of the log or from another log, and continues with new events", async () => {
  const url = await serve();
  await appendEvents(store, sampleEvents(2));
  const sse = await openSse(`${url}${ACME_EVENTS}&after=77`, bearer);
  const ws = openSocket(url, `${ACME_EVENTS}&after=1@0a1b2c3d`);
  const frames = [
    { status: "connected", cursor: "2", log: expect.any(String) },
    {
      truncated: true,
      tenant: "acme",
      reason: "ahead",
      detail: expect.stringContaining("The log has lost events"),
    },
  ];
  await expect.poll(() => sse.messages.map(({ data }) => data)).toEqual(frames);
  expect(sse.messages[1]?.event).toBe("truncated");
  await expect.poll(() => ws.messages).toEqual(frames);
  await appendEvents(store, [sampleEvent()]);
  await expect.poll(sse.seqs).toEqual([3]);
  await expect.poll(() => ws.messages.at(-1)).toMatchObject({ seq: 3, cursor: "3" });
  sse.close();
});

it("sends the current state of an event to a client that connects later", async () => {
  const url = await serve();
  const connected = await openSse(`${url}${ACME_EVENTS}`, bearer);
  await expect.poll(() => connected.lastId()).toBe("0");
  const [first, second, third] = sampleEvents(3);
  await appendEvents(store, [first, second, third] as NewEvent[]);
  await expect.poll(connected.seqs).toEqual([1, 2, 3]);
  await store.markProcessed("acme", [second?.id ?? ""], Date.now(), null);
  const late = await openSse(`${url}${ACME_EVENTS}&after=0`, bearer);
  await expect.poll(late.seqs).toEqual([1, 2, 3]);
  const events = late.messages.slice(1).map(({ data }) => data as { summary: unknown });
  expect(events.map(({ summary }) => summary)).toMatchObject(
    [false, true, false].map((processed) => ({ processed })),
  );
  connected.close();
  late.close();
});

it("rejects an invalid cursor", async () => {
  const url = await serve();
  for (const after of ["nonsense", "7", "%25zz:1", "-1", "1.5", "acme:", "acme:1;umbrella:1"]) {
    const { response } = await openSse(`${url}/events?after=${after}`, bearer);
    expect([after, response.status]).toEqual([after, 400]);
  }
});

it("returns 503, or closes with 1011, if the log cannot be read", async () => {
  const url = await serve({
    feed: {
      follow: () => Promise.reject(new Error("no database")),
      close: () => {},
    },
  });
  const { response } = await openSse(`${url}${ACME_EVENTS}`, bearer);
  expect(response.status).toBe(503);
  expect(await openSocket(url, ACME_EVENTS).closed).toBe(1011);
  expect(errors.splice(0)).toHaveLength(2);
});

describe("clients that never read", () => {
  const large = (count: number) => sampleEvents(count, () => ({ title: "x".repeat(100_000) }));

  const buffered = () => [...sockets].map(({ writableLength }) => writableLength);

  it("use one buffer each, do not delay others, and are disconnected", async () => {
    const url = await serve({ stallMs: 400, stallCheckMs: 20 });
    const clients = [stuckSse(url), stuckSse(url), stuckSocket(url), stuckSocket(url)];
    await expect.poll(() => sockets.size).toBe(clients.length);
    const quick = await openSse(`${url}${ACME_EVENTS}`, bearer);
    let max = 0;
    for (let batch = 0; batch < 20; batch += 1) {
      await appendEvents(store, large(10));
      await expect.poll(() => quick.seqs().length).toBe((batch + 1) * 10);
      max = Math.max(max, ...buffered());
    }
    // 20 MB are sent; a client that does not read uses one buffer and the message that filled it.
    expect(max).toBeLessThan(400_000);
    await expect.poll(() => sockets.size).toBe(1);
    await appendEvents(store, [sampleEvent()]);
    await expect.poll(() => quick.seqs().at(-1)).toBe(201);
    quick.close();
    await expect.poll(() => sockets.size).toBe(0);
  });

  it("get all events if they start to read later", async () => {
    const url = await serve();
    for (const client of [stuckSse(url), stuckSocket(url)]) {
      await appendEvents(store, large(100));
      await expect.poll(() => Math.max(...buffered())).toBeGreaterThan(0);
      let received = "";
      client.setEncoding("latin1").on("data", (text: string) => {
        received += text;
      });
      client.resume();
      const last = (await store.getTenant("acme"))?.seq;
      await expect.poll(() => received.slice(-200_000)).toContain(`"seq":${last},`);
      expect(received.match(/"event_id":"/g)).toHaveLength(last ?? 0);
      client.destroy();
    }
  });

  it("are disconnected when they flood the hub with pings, which are not parsed", async () => {
    const url = await serve();
    const client = stuckSocket(url);
    client.on("error", () => {});
    await expect.poll(() => sockets.size).toBe(1);
    const [serverSocket] = sockets;
    const flood = Buffer.concat(
      Array.from({ length: 50_000 }, (_, at) => frame(at % 2 ? 0x81 : 0x89, "ping")),
    );
    for (let round = 0; round < 12; round += 1) client.write(flood);
    client.resume();
    await expect.poll(() => sockets.size).toBe(0);
    expect(serverSocket?.bytesRead).toBeLessThan(flood.length);
  });
});

/** A WebSocket frame of a client. Its mask is 0, so the text is unchanged. */
const frame = (head: number, text: string) =>
  Buffer.from([head, 0x80 | text.length, 0, 0, 0, 0, ...Buffer.from(text)]);

describe("a WebSocket client", () => {
  it.each([
    ["101 empty pings", Array(101).fill(frame(0x89, "")), /20 frames per second/],
    ["101 pongs", Array(101).fill(frame(0x8a, "")), /20 frames per second/],
    ["101 messages", Array(101).fill(frame(0x81, "x")), /20 frames per second/],
    [
      "endless fragments",
      [frame(0x01, ""), ...Array(30_000).fill(frame(0x00, ""))],
      /16384 bytes per second/,
    ],
  ])("is disconnected with 1008 when it sends %s", async (_, frames, reason) => {
    const url = await serve();
    const client = stuckSocket(url);
    let received = "";
    client.setEncoding("latin1").on("data", (text: string) => {
      received += text;
    });
    client.on("error", () => {});
    client.resume();
    await expect.poll(() => received).toContain("101 Switching");
    client.write(Buffer.concat(frames as Buffer[]));
    await expect.poll(() => received).toMatch(reason);
    expect(received).toContain("\x03\xf0"); // the close code 1008
    await expect.poll(() => sockets.size).toBe(0);
  });

  it("is disconnected with 1009 when it sends a message above 4 KiB", async () => {
    const { socket, closed } = openSocket(await serve(), ACME_EVENTS);
    await once(socket, "open");
    socket.send("x".repeat(4 * 1024 + 1));
    expect(await closed).toBe(1009);
  });

  it("stays connected when it sends a burst of 50 pings", async () => {
    const { socket, messages } = openSocket(await serve(), ACME_EVENTS);
    await once(socket, "open");
    for (let at = 0; at < 50; at += 1) socket.send("ping");
    await expect.poll(() => messages.filter(({ pong }) => pong !== undefined)).toHaveLength(50);
    expect(socket.readyState).toBe(WebSocket.OPEN);
  });
});

it("unsubscribes clients that disconnected during authorization", async () => {
  const feed = createFeed(store);
  const { authorizeRequest } = createAuthorization();
  const { promise: disconnected, resolve: authorizeAll } = Promise.withResolvers<void>();
  let checked = 0;
  let following = 0;
  const url = await serve({
    async authorizeRequest(...args) {
      checked += 1;
      await disconnected;
      return authorizeRequest(...args);
    },
    feed: {
      ...feed,
      async follow(options) {
        following += 1;
        const follower = await feed.follow(options);
        return {
          ...follower,
          stop() {
            following -= 1;
            follower.stop();
          },
        };
      },
    },
  });
  const early = [stuckSse(url), stuckSocket(url)];
  await expect.poll(() => checked).toBe(2);
  for (const socket of early) socket.resetAndDestroy();
  await expect.poll(() => sockets.size).toBe(0);
  authorizeAll();
  const quick = await openSse(`${url}${ACME_EVENTS}`, bearer);
  await expect.poll(() => following).toBe(1);
  quick.close();
  await expect.poll(() => following).toBe(0);
});

it("starts a pipelined stream only after the earlier responses", async () => {
  const realFeed = createFeed(store);
  let followed = 0;
  const feed = {
    ...realFeed,
    follow(follow: Parameters<typeof realFeed.follow>[0]) {
      followed += 1;
      return realFeed.follow(follow);
    },
  };
  const url = new URL(await serve({ feed }));
  const socket = connect(Number(url.port), url.hostname);
  onTestFinished(() => void socket.destroy());
  let received = "";
  socket.on("data", (data) => {
    received += data;
  });
  const request = (query: string) =>
    `GET /events${query} HTTP/1.1\r\nhost: hub\r\nauthorization: ${bearer.authorization}\r\n\r\n`;
  socket.write(request("?type=a") + request("?type=b") + request("?type=c"));
  await expect.poll(() => received).toContain("connected");
  await appendEvents(store, [
    sampleEvent({ type: "b" }),
    sampleEvent({ type: "a", title: "the last" }),
  ]);
  await expect.poll(() => received).toContain("the last");
  expect(followed).toBe(1);
});
