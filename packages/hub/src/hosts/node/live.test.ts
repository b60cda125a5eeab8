/** The live stream's wire and its clients' lives, on real sockets. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { openSse } from "../../../../../test/support/sse.ts";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { openSqlite } from "../../store/backends/sqlite.ts";
import { keep, sampleEvent, sampleEvents } from "../../store/contract/sample.ts";
import type { Store } from "../../store/store.ts";
import { createFeed } from "../../stream/feed.ts";
import { createAccesses } from "../../tenants/access.ts";
import { createToken } from "../../tenants/tokens.ts";
import { createLive, type LiveOptions } from "./live.ts";

let store: Store;
let token: string;
let bearer: { authorization: string };
/** The hub's ends of the connections. */
let sockets: Set<Socket>;
let errors: unknown[];

beforeEach(async () => {
  store = openSqlite(`${tempFolder()}/x.db`);
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

async function serve(options: Partial<LiveOptions> = {}): Promise<string> {
  const feed = createFeed(store);
  const live = createLive({
    feed,
    accesses: createAccesses({ store, now: Date.now, everyTenant: undefined }),
    isOurHost: () => true,
    onError: (error) => errors.push(error),
    ...options,
  });
  const server: Server = createServer(live.sse)
    .on("upgrade", live.upgrade)
    .on("connection", (socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    })
    .listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    live.close();
    feed.close();
    server.closeAllConnections();
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function openSocket(url: string, path: string) {
  const socket = new WebSocket(`${url.replace("http", "ws")}${path}`, { headers: bearer });
  const messages: Record<string, unknown>[] = [];
  socket.on("message", (data) => messages.push(JSON.parse(String(data))));
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  onTestFinished(() => socket.terminate());
  return { socket, messages, closed };
}

const ONE = "/events?tenant=acme";

/** A client that is let in, and never reads. */
const stuck = (url: string, head: string) => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).pause();
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  socket.write(`${head}host: hub\r\nauthorization: ${bearer.authorization}\r\n\r\n`);
  return socket;
};
const asSse = (url: string) => stuck(url, `GET ${ONE}&after=0 HTTP/1.1\r\n`);
const asSocket = (url: string) =>
  stuck(
    url,
    `GET ${ONE}&after=0 HTTP/1.1\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${"A".repeat(22)}==\r\n`,
  );

describe("the first frame, and every heartbeat", () => {
  it("say from where to go on, on SSE as the id too, also past what a filter leaves out", async () => {
    const url = await serve({ heartbeatMs: 20 });
    await keep(store, sampleEvents(3));
    const sse = await openSse(`${url}${ONE}&type=push`, bearer);
    await expect
      .poll(() => sse.messages[0])
      .toEqual({
        id: "3",
        event: undefined,
        data: { status: "connected", cursor: "3" },
      });
    const ws = openSocket(url, `${ONE}&type=push`);
    await expect.poll(() => ws.messages[0]).toEqual({ status: "connected", cursor: "3" });
    await keep(store, sampleEvents(2));
    const beat = { heartbeat: expect.any(Number), cursor: "5" };
    await expect.poll(() => sse.messages.at(-1)).toEqual({ id: "5", event: undefined, data: beat });
    await expect.poll(() => ws.messages.at(-1)).toEqual(beat);
    expect(sse.seqs()).toEqual([]);
    sse.close();
  });

  it("name every tenant's place where there are several; 0 is everybody's beginning", async () => {
    const url = await serve();
    await keep(store, sampleEvents(2));
    await keep(store, [sampleEvent()], "umbrella");
    const fresh = await openSse(`${url}/events`, bearer);
    await expect.poll(() => fresh.lastId()).toBe("acme:2,umbrella:1");
    fresh.close();
    await keep(store, [sampleEvent()], "umbrella");
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
  });
});

it("a cursor ahead of the log is told so, and goes on from now", async () => {
  const url = await serve();
  await keep(store, sampleEvents(2));
  const sse = await openSse(`${url}${ONE}&after=77`, bearer);
  const ws = openSocket(url, `${ONE}&after=77`);
  const frames = [
    { status: "connected", cursor: "2" },
    {
      truncated: true,
      tenant: "acme",
      reason: "ahead",
      detail: expect.stringContaining("ahead of the log"),
    },
  ];
  await expect.poll(() => sse.messages.map(({ data }) => data)).toEqual(frames);
  expect(sse.messages[1]?.event).toBe("truncated");
  await expect.poll(() => ws.messages).toEqual(frames);
  await keep(store, [sampleEvent()]);
  await expect.poll(sse.seqs).toEqual([3]);
  await expect.poll(() => ws.messages.at(-1)).toMatchObject({ seq: 3, cursor: "3" });
  sse.close();
});

it("a cursor that is none is refused in words, however odd", async () => {
  const url = await serve();
  for (const after of ["nonsense", "7", "%25zz:1", "-1", "1.5", "acme:", "acme:1;umbrella:1"]) {
    const { response } = await openSse(`${url}/events?after=${after}`, bearer);
    expect([after, response.status]).toEqual([after, 400]);
  }
});

it("while the log cannot be read, a stream is refused, not begun and cut", async () => {
  const url = await serve({
    feed: {
      follow: () => Promise.reject(new Error("no database")),
      close: () => {},
    },
  });
  const { response } = await openSse(`${url}${ONE}`, bearer);
  expect(response.status).toBe(503);
  expect(await openSocket(url, ONE).closed).toBe(1011);
  expect(errors.splice(0)).toHaveLength(2);
});

describe("clients that never read", () => {
  const large = (count: number) => sampleEvents(count, () => ({ title: "x".repeat(100_000) }));

  const buffered = () => [...sockets].map(({ writableLength }) => writableLength);

  it("cost a buffer each, others nothing, and are sent away in the end", async () => {
    const url = await serve({ stallMs: 400, recheckMs: 20 });
    const clients = [asSse(url), asSse(url), asSocket(url), asSocket(url)];
    await expect.poll(() => sockets.size).toBe(clients.length);
    const quick = await openSse(`${url}${ONE}`, bearer);
    let most = 0;
    for (let batch = 0; batch < 20; batch += 1) {
      await keep(store, large(10));
      await expect.poll(() => quick.seqs().length, { timeout: 10_000 }).toBe((batch + 1) * 10);
      most = Math.max(most, ...buffered());
    }
    // 20 MB came; of those that do not read, each holds a buffer and the message that filled it.
    expect(most).toBeLessThan(400_000);
    await expect.poll(() => sockets.size, { timeout: 10_000 }).toBe(1);
    await keep(store, [sampleEvent()]);
    await expect.poll(() => quick.seqs().at(-1)).toBe(201);
    quick.close();
    await expect.poll(() => sockets.size).toBe(0);
  });

  it("cannot fill the memory with pings either", async () => {
    const url = await serve();
    const client = asSocket(url);
    await expect.poll(() => sockets.size).toBe(1);
    const ping = (opcode: number) => {
      const frame = Buffer.alloc(10);
      // With an empty mask, and "ping" behind it.
      frame.set([0x80 | opcode, 0x80 | 4, 0, 0, 0, 0, ...Buffer.from("ping")]);
      return frame;
    };
    const flood = Buffer.concat(
      Array.from({ length: 50_000 }, (_, at) => ping(at % 2 ? 0x1 : 0x9)),
    );
    const [end] = sockets;
    for (let round = 0; round < 12; round += 1) {
      if (!client.write(flood)) await once(client, "drain");
      expect(end?.writableLength).toBeLessThan(200_000);
    }
    await expect.poll(() => end?.bytesRead, { timeout: 10_000 }).toBeGreaterThan(12 * flood.length);
    expect(end?.writableLength).toBeLessThan(200_000);
  });
});

it("clients that are gone before they were let in leave nothing behind", async () => {
  const feed = createFeed(store);
  const accesses = createAccesses({ store, now: Date.now, everyTenant: undefined });
  const { promise: goneAgain, resolve: letIn } = Promise.withResolvers<void>();
  let checked = 0;
  let following = 0;
  const url = await serve({
    accesses: {
      async check(...asked) {
        checked += 1;
        await goneAgain;
        return accesses.check(...asked);
      },
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
  const early = [asSse(url), asSocket(url)];
  await expect.poll(() => checked).toBe(2);
  for (const socket of early) socket.resetAndDestroy();
  await expect.poll(() => sockets.size).toBe(0);
  letIn();
  const quick = await openSse(`${url}${ONE}`, bearer);
  await expect.poll(() => following).toBe(1);
  quick.close();
  await expect.poll(() => following).toBe(0);
});
