/** Live streams, tools and plain HTTP routes of a running hub. */
import { request } from "node:http";
import { connect } from "node:net";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { deliver, SECRET } from "../support/deliver.ts";
import { commandSettings, type Host, hosts, startOn } from "../support/hosts.ts";
import { createTokenByCli, type HubProcess, runCli } from "../support/hub-process.ts";
import { openSocket as openSocketWith } from "../support/open-socket.ts";
import { createMigratedDatabase } from "../support/postgres.ts";
import { openSse } from "../support/sse.ts";
import { tempFolder } from "../support/temp-folder.ts";

const TOKEN = "sbx_live_streams_story_0123";
const bearer = { authorization: `Bearer ${TOKEN}` };
const FOUR_SECONDS_IN_DAYS = 4 / 86_400;

async function startHub(
  host: Host,
  env: Record<string, string> = {},
  data = tempFolder(),
): Promise<HubProcess> {
  const hub = await startOn(host, {
    data,
    env: { GITHUB_WEBHOOK_SECRET: SECRET, SIGNALBOX_TOKEN: TOKEN, ...env },
  });
  onTestFinished(async () => void (await hub.stop()));
  return hub;
}

const numbersBetween = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

async function send(hub: HubProcess, count: number, type = "issues"): Promise<void> {
  const responses = await Promise.all(
    Array.from({ length: count }, () => deliver(hub.url, { type })),
  );
  for (const { status } of responses) expect(status).toBe(202);
}

const openSocket = (hub: HubProcess, path = "/events", headers: Record<string, string> = bearer) =>
  openSocketWith(hub, path, headers);

describe.each(hosts)("GET /events on %s", (host) => {
  const start = (env?: Record<string, string>, data?: string) => startHub(host, env, data);
  /** A Durable Object checks the tokens of idle sockets before it sends an event, and every five minutes. */
  const wakeIdleSockets = async (hub: HubProcess) => {
    if (host === "workerd") await send(hub, 1);
  };

  it("accepts ?token= from clients that cannot set headers, and never writes the token to responses or the log", async () => {
    const hub = await start({ SIGNALBOX_LOG_LEVEL: "trace" });
    const sse = await openSse(`${hub.url}/events?token=${TOKEN}`, {});
    const { messages, seqs } = openSocket(hub, `/events?token=${TOKEN}`, {});
    await expect.poll(() => messages[0]).toMatchObject({ status: "connected" });
    await expect.poll(() => sse.messages[0]?.data).toMatchObject({ status: "connected" });
    await send(hub, 1);
    await expect.poll(sse.seqs).toEqual([1]);
    await expect.poll(seqs).toEqual([1]);
    sse.close();
    const wrongToken = `${TOKEN}_wrong`;
    const rejected = await fetch(`${hub.url}/events?token=${wrongToken}`);
    expect(rejected.status).toBe(401);
    const pages = await Promise.all(
      ["/metrics", "/", "/nowhere?token=".concat(wrongToken)].map(async (path) =>
        (await fetch(`${hub.url}${path}`)).text(),
      ),
    );
    await hub.stop();
    expect([await rejected.text(), ...pages, hub.output()].join("\n")).not.toContain(TOKEN);
  });

  it("sends `connected` and each event once over SSE, with its cursor as id, and resumes after Last-Event-ID", async () => {
    const hub = await start();
    await send(hub, 2);
    const first = await openSse(`${hub.url}/events`, bearer);
    expect(first.response.headers.get("content-type")).toBe("text/event-stream");
    await expect
      .poll(() => first.messages[0])
      .toMatchObject({ id: "2", data: { status: "connected", cursor: "2" } });
    await send(hub, 3);
    await expect.poll(first.seqs).toEqual([3, 4, 5]);
    expect(first.messages[1]).toMatchObject({
      id: "3",
      data: {
        event_id: expect.any(String),
        type: "issues",
        summary: { repo: "octo/town", title: "It rains" },
      },
    });
    first.close();
    await send(hub, 300);
    const second = await openSse(`${hub.url}/events`, {
      ...bearer,
      "last-event-id": first.lastId() ?? "",
    });
    await send(hub, 5);
    await expect.poll(() => second.seqs().length).toBe(305);
    expect(second.seqs()).toEqual(numbersBetween(6, 310));
    second.close();
    const fromStart = await openSse(`${hub.url}/events?after=0&type=issues`, bearer);
    await expect.poll(() => fromStart.seqs().length).toBe(310);
    fromStart.close();
  });

  it("sends `connected` and each event once over WebSocket, responds to `ping`, and resumes", async () => {
    const hub = await start();
    const { socket, messages, seqs } = openSocket(hub);
    await expect.poll(() => messages[0]).toMatchObject({ status: "connected", cursor: "0" });
    await send(hub, 3);
    await expect.poll(seqs).toEqual([1, 2, 3]);
    expect(messages[1]).toMatchObject({
      event_id: expect.any(String),
      type: "issues",
      cursor: "1",
      summary: { sender: "mona" },
    });
    socket.send("ping");
    await expect.poll(() => messages.at(-1)).toEqual({ pong: expect.any(Number) });
    socket.close();
    await send(hub, 4);
    const resumed = openSocket(hub, "/events?after=3");
    await expect.poll(resumed.seqs).toEqual([4, 5, 6, 7]);
  });

  it("resumes at the cursor of `connected` if the client disconnects before the first event", async () => {
    const hub = await start();
    await send(hub, 2);
    const sse = await openSse(`${hub.url}/events`, bearer);
    const socket = openSocket(hub);
    await expect.poll(() => sse.messages.length + socket.messages.length).toBe(2);
    sse.close();
    socket.socket.terminate();
    await send(hub, 3);
    const resumeHeaders = { ...bearer, "last-event-id": sse.lastId() ?? "" };
    const resumedSse = await openSse(`${hub.url}/events`, resumeHeaders);
    const resumedSocket = openSocket(hub, `/events?after=${socket.messages[0]?.cursor}`);
    await expect.poll(resumedSse.seqs).toEqual([3, 4, 5]);
    await expect.poll(resumedSocket.seqs).toEqual([3, 4, 5]);
    resumedSse.close();
  });

  it("sends `truncated` for a cursor of another log, and continues with new events", async () => {
    const hub = await start();
    await send(hub, 5);
    await hub.stop();
    // At the same address, but with an empty data folder.
    const emptyHub = await start({ PORT: new URL(hub.url).port });
    await send(emptyHub, 2);
    const sse = await openSse(`${emptyHub.url}/events?after=5`, bearer);
    await expect
      .poll(() => sse.messages)
      .toMatchObject([
        { id: "2", data: { status: "connected", cursor: "2" } },
        {
          event: "truncated",
          data: { detail: expect.stringContaining("The log has lost events") },
        },
      ]);
    await send(emptyHub, 1);
    await expect.poll(sse.seqs).toEqual([3]);
    sse.close();
  });

  it("filters by type and repo", async () => {
    const hub = await start();
    const pushes = await openSse(`${hub.url}/events?type=push`, bearer);
    const otherRepo = await openSse(`${hub.url}/events?repo=octo/city`, bearer);
    await expect.poll(() => pushes.messages.length + otherRepo.messages.length).toBe(2);
    await send(hub, 1);
    await send(hub, 1, "push");
    await send(hub, 1);
    await expect.poll(pushes.seqs).toEqual([2]);
    expect(otherRepo.seqs()).toEqual([]);
    pushes.close();
    otherRepo.close();
  });

  it("ends the stream when the token is revoked, with code 4401", async () => {
    const data = tempFolder();
    const hub = await start({}, data);
    const env = commandSettings(host, hub, { data, token: TOKEN });
    const { id, token } = await createTokenByCli(env);
    const headers = { authorization: `Bearer ${token}` };
    const sse = await openSse(`${hub.url}/events`, headers);
    const socket = openSocket(hub, "/events", headers);
    await expect.poll(() => socket.messages.length).toBe(1);
    await runCli(["token", "revoke", id], { env });
    await sse.ended;
    expect(sse.messages.at(-1)).toMatchObject({ event: "closed", data: { code: 4401 } });
    await wakeIdleSockets(hub);
    expect(await socket.closed).toBe(4401);
    expect(socket.seqs()).toEqual([]);
    expect((await openSse(`${hub.url}/events`, headers)).response.status).toBe(401);
  });

  it("rejects missing and unknown tokens, other origins and invalid cursors", async () => {
    const hub = await start();
    const status = async (path: string, headers: Record<string, string>) =>
      (await openSse(`${hub.url}${path}`, headers)).response.status;
    expect(await status("/events", {})).toBe(401);
    expect(await status("/events", { authorization: "Bearer unknown" })).toBe(401);
    expect(await status("/events", { ...bearer, origin: "https://evil.example" })).toBe(403);
    expect(await status("/events?after=nonsense", bearer)).toBe(400);
    const openStatus = async (headers: Record<string, string>, path = "/events") => {
      const { socket, closed } = openSocket(hub, path, headers);
      const rejection = new Promise((resolve) =>
        socket.on("unexpected-response", (_, { statusCode }) => resolve(statusCode)),
      );
      const status = await Promise.race([rejection, closed]);
      socket.terminate();
      return status;
    };
    expect(await openStatus({})).toBe(401);
    expect(await openStatus({ authorization: "Bearer unknown" })).toBe(401);
    for (const origin of ["https://evil.example", "null", "not an origin"])
      expect(await openStatus({ ...bearer, origin })).toBe(403);
    expect(await openStatus({ ...bearer, host: "evil.example" })).toBe(421);
    expect(await openStatus(bearer, "/events?after=nonsense")).toBe(400);
    const sameOrigin = openSocket(hub, "/events", { ...bearer, origin: hub.url });
    await expect.poll(() => sameOrigin.messages.length).toBe(1);
  });

  it("ends the stream when the token expires, and then rejects the token", async () => {
    const hub = await start();
    const created = await fetch(`${hub.url}/api/tokens`, {
      method: "POST",
      headers: { ...bearer, "content-type": "application/json" },
      body: JSON.stringify({ name: "short-lived", days: FOUR_SECONDS_IN_DAYS }),
    });
    const { token } = (await created.json()) as { token: string };
    const headers = { authorization: `Bearer ${token}` };
    const sse = await openSse(`${hub.url}/events`, headers);
    const socket = openSocket(hub, "/events", headers);
    await expect.poll(() => socket.messages.length).toBe(1);
    await sse.ended;
    expect(sse.messages.at(-1)).toMatchObject({ event: "closed", data: { code: 4401 } });
    await wakeIdleSockets(hub);
    expect(await socket.closed).toBe(4401);
    expect(socket.seqs()).toEqual([]);
    const { response } = await openSse(`${hub.url}/events`, headers);
    expect([response.status, await response.json()]).toMatchObject([
      401,
      { code: "token_expired" },
    ]);
    expect(await openSocket(hub, "/events", headers).closed).toBe(1006);
  });

  it("continues to serve clients after others disconnect before the response", async () => {
    const hub = await start();
    const { hostname, port } = new URL(hub.url);
    const upgrade =
      "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
    for (let client = 0; client < 200; client += 1) {
      const socket = connect(Number(port), hostname);
      socket.on("error", () => {});
      const authorization = client % 3 ? bearer.authorization : "Bearer unknown";
      const head = `host: ${hostname}\r\nauthorization: ${authorization}\r\n`;
      socket.write(`GET /events HTTP/1.1\r\n${head}${client % 2 ? upgrade : ""}\r\n`, () =>
        socket.resetAndDestroy(),
      );
      await new Promise((resolve) => socket.on("close", resolve));
    }
    const sse = await openSse(`${hub.url}/events`, bearer);
    await send(hub, 1);
    await expect.poll(sse.seqs).toEqual([1]);
    sse.close();
  });

  it("sends all events to a client while another client never reads", async () => {
    const hub = await start();
    const unread = request(`${hub.url}/events?after=0`, { headers: bearer }, (response) =>
      response.pause(),
    );
    unread.on("error", () => {});
    unread.end();
    onTestFinished(() => void unread.destroy());
    const reader = await openSse(`${hub.url}/events`, bearer);
    await expect.poll(() => reader.messages.length).toBe(1);
    for (let batch = 0; batch < 20; batch += 1) await send(hub, 100);
    await expect.poll(() => reader.seqs().length).toBe(2_000);
    expect(reader.seqs()).toEqual(numbersBetween(1, 2_000));
    reader.close();
  });

  it("ends the stream when the hub stops, with code 1001 on WebSocket", async ({ skip }) => {
    skip(host === "workerd", "a Worker is not notified before it stops");
    const hub = await start();
    const sse = await openSse(`${hub.url}/events`, bearer);
    const socket = openSocket(hub);
    await expect.poll(() => sse.messages.length + socket.messages.length).toBe(2);
    expect(await hub.stop()).toBe(0);
    await sse.ended;
    expect(await socket.closed).toBe(1001);
  });
});

it("GET /events sends events of one replica to clients of another, on PostgreSQL", async () => {
  const env = { DATABASE_URL: await createMigratedDatabase(inject("postgresUrl")) };
  const [first, second] = [await startHub("Node", env), await startHub("Node", env)];
  const sse = await openSse(`${second.url}/events`, bearer);
  await expect.poll(() => sse.messages.length).toBe(1);
  await send(first, 50);
  await send(second, 50);
  await expect.poll(() => sse.seqs().length).toBe(100);
  expect(sse.seqs()).toEqual(numbersBetween(1, 100));
  sse.close();
});

describe.each(hosts)("/mcp and the plain HTTP routes on %s", (host) => {
  it("return a stored webhook to a client with a token", async () => {
    const hub = await startHub(host);
    await send(hub, 1);
    const client = new Client({ name: "story", version: "1" });
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp`), {
        requestInit: { headers: bearer },
      }),
    );
    const listed = await client.callTool({ name: "list_pending_events", arguments: {} });
    expect(listed.structuredContent).toMatchObject({ events: [{ title: "It rains", number: 7 }] });
    await client.close();
    const status = await fetch(`${hub.url}/pending-status`, { headers: bearer });
    expect(await status.json()).toMatchObject({ pending_count: 1 });
    expect((await fetch(`${hub.url}/pending-status`)).status).toBe(401);
  });
});
