/** Live streams, tools and plain HTTP routes of a running hub. */
import { request } from "node:http";
import { connect } from "node:net";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { deliver, SECRET } from "../support/deliver.ts";
import { commandSettings, type Host, hosts, startOn } from "../support/hosts.ts";
import { createTokenByCli, type HubProcess, runCli } from "../support/hub-process.ts";
import { createMigratedDatabase } from "../support/postgres.ts";
import { openSse } from "../support/sse.ts";
import { tempFolder } from "../support/temp-folder.ts";

const TOKEN = "sbx_live_streams_story_0123";
const bearer = { authorization: `Bearer ${TOKEN}` };

const startFor =
  (host: Host) =>
  async (env: Record<string, string> = {}, data = tempFolder()): Promise<HubProcess> => {
    const hub = await startOn(host, {
      data,
      env: { GITHUB_WEBHOOK_SECRET: SECRET, SIGNALBOX_TOKEN: TOKEN, ...env },
    });
    onTestFinished(async () => void (await hub.stop()));
    return hub;
  };

const upTo = (last: number, first = 1) =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at);

async function send(hub: HubProcess, count: number, type = "issues"): Promise<void> {
  const responses = await Promise.all(
    Array.from({ length: count }, () => deliver(hub.url, { type })),
  );
  for (const { status } of responses) expect(status).toBe(202);
}

function openSocket(hub: HubProcess, path = "/events", headers: Record<string, string> = bearer) {
  // After the closing handshake, workerd keeps the TCP connection open for many seconds.
  const options = { headers, closeTimeout: 1_000 };
  const socket = new WebSocket(`${hub.url.replace("http", "ws")}${path}`, options);
  const messages: Record<string, unknown>[] = [];
  socket.on("message", (data) => messages.push(JSON.parse(String(data))));
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  socket.on("error", () => {});
  onTestFinished(() => socket.terminate());
  const seqs = () => messages.flatMap(({ seq }) => (typeof seq === "number" ? [seq] : []));
  return { socket, messages, seqs, closed };
}

describe.each(hosts)("GET /events on %s", (host) => {
  const start = startFor(host);
  /** An object does not watch the tokens of idle sockets: it checks them before it sends the next event. */
  const wakeIdleSockets = async (hub: HubProcess) => {
    if (host === "workerd") await send(hub, 1);
  };

  it("accepts ?token= from clients that cannot set headers, and writes it nowhere", async () => {
    const hub = await start({ SIGNALBOX_LOG_LEVEL: "trace" });
    const sse = await openSse(`${hub.url}/events?token=${TOKEN}`, {});
    const { messages, seqs } = openSocket(hub, `/events?token=${TOKEN}`, {});
    await expect.poll(() => messages[0]).toMatchObject({ status: "connected" });
    await expect.poll(() => sse.messages[0]?.data).toMatchObject({ status: "connected" });
    await send(hub, 1);
    await expect.poll(sse.seqs).toEqual([1]);
    await expect.poll(seqs).toEqual([1]);
    sse.close();
    const wrong = `${TOKEN}_wrong`;
    const refused = await fetch(`${hub.url}/events?token=${wrong}`);
    expect(refused.status).toBe(401);
    const pages = await Promise.all(
      ["/metrics", "/", "/nowhere?token=".concat(wrong)].map(async (path) =>
        (await fetch(`${hub.url}${path}`)).text(),
      ),
    );
    await hub.stop();
    expect([await refused.text(), ...pages, hub.output()].join("\n")).not.toContain(TOKEN);
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
    expect(second.seqs()).toEqual(upTo(310, 6));
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
    const again = openSocket(hub, "/events?after=3");
    await expect.poll(again.seqs).toEqual([4, 5, 6, 7]);
  });

  it("resumes at the start cursor after a disconnect before the first event", async () => {
    const hub = await start();
    await send(hub, 2);
    const sse = await openSse(`${hub.url}/events`, bearer);
    const socket = openSocket(hub);
    await expect.poll(() => sse.messages.length + socket.messages.length).toBe(2);
    sse.close();
    socket.socket.terminate();
    await send(hub, 3);
    const after = { ...bearer, "last-event-id": sse.lastId() ?? "" };
    const second = await openSse(`${hub.url}/events`, after);
    const again = openSocket(hub, `/events?after=${socket.messages[0]?.cursor}`);
    await expect.poll(second.seqs).toEqual([3, 4, 5]);
    await expect.poll(again.seqs).toEqual([3, 4, 5]);
    second.close();
  });

  it("sends `truncated` for a cursor of another log, and continues with new events", async () => {
    const hub = await start();
    await send(hub, 5);
    await hub.stop();
    const wiped = await start({ PORT: new URL(hub.url).port });
    await send(wiped, 2);
    const sse = await openSse(`${wiped.url}/events?after=5`, bearer);
    await expect
      .poll(() => sse.messages)
      .toMatchObject([
        { id: "2", data: { status: "connected", cursor: "2" } },
        { event: "truncated", data: { detail: expect.stringContaining("ahead of the log") } },
      ]);
    await send(wiped, 1);
    await expect.poll(sse.seqs).toEqual([3]);
    sse.close();
  });

  it("filters by type and repo", async () => {
    const hub = await start();
    const pushes = await openSse(`${hub.url}/events?type=push`, bearer);
    const elsewhere = await openSse(`${hub.url}/events?repo=octo/city`, bearer);
    await expect.poll(() => pushes.messages.length + elsewhere.messages.length).toBe(2);
    await send(hub, 1);
    await send(hub, 1, "push");
    await send(hub, 1);
    await expect.poll(pushes.seqs).toEqual([2]);
    expect(elsewhere.seqs()).toEqual([]);
    pushes.close();
    elsewhere.close();
  });

  it("ends after the token is revoked, with 4401 on WebSocket", async () => {
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
    expect(await status("/events", { authorization: "Bearer guess" })).toBe(401);
    expect(await status("/events", { ...bearer, origin: "https://evil.example" })).toBe(403);
    expect(await status("/events?after=nonsense", bearer)).toBe(400);
    const rejectedWith = async (headers: Record<string, string>, path = "/events") => {
      const { socket, closed } = openSocket(hub, path, headers);
      const rejection = new Promise((resolve) =>
        socket.on("unexpected-response", (_, { statusCode }) => resolve(statusCode)),
      );
      const status = await Promise.race([rejection, closed]);
      socket.terminate();
      return status;
    };
    expect(await rejectedWith({})).toBe(401);
    expect(await rejectedWith({ authorization: "Bearer guess" })).toBe(401);
    for (const origin of ["https://evil.example", "null", "not an origin"])
      expect(await rejectedWith({ ...bearer, origin })).toBe(403);
    expect(await rejectedWith({ ...bearer, host: "evil.example" })).toBe(421);
    expect(await rejectedWith(bearer, "/events?after=nonsense")).toBe(400);
    const sameOrigin = openSocket(hub, "/events", { ...bearer, origin: hub.url });
    await expect.poll(() => sameOrigin.messages.length).toBe(1);
  });

  it("ends when the token expires, and rejects the expired token", async () => {
    const hub = await start();
    const created = await fetch(`${hub.url}/api/tokens`, {
      method: "POST",
      headers: { ...bearer, "content-type": "application/json" },
      body: JSON.stringify({ name: "short-lived", days: 4 / 86_400 }),
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

  it("survives clients that disconnect before the response", async () => {
    const hub = await start();
    const { hostname, port } = new URL(hub.url);
    const upgrade =
      "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
    for (let client = 0; client < 200; client += 1) {
      const socket = connect(Number(port), hostname);
      socket.on("error", () => {});
      const authorization = client % 3 ? bearer.authorization : "Bearer guess";
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
    const reading = await openSse(`${hub.url}/events`, bearer);
    await expect.poll(() => reading.messages.length).toBe(1);
    for (let batch = 0; batch < 20; batch += 1) await send(hub, 100);
    await expect.poll(() => reading.seqs().length).toBe(2_000);
    expect(reading.seqs()).toEqual(upTo(2_000));
    reading.close();
  });

  it("ends when the hub stops, with 1001 on WebSocket", async ({ skip }) => {
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
  const [one, other] = [await startFor("Node")(env), await startFor("Node")(env)];
  const sse = await openSse(`${other.url}/events`, bearer);
  await expect.poll(() => sse.messages.length).toBe(1);
  await send(one, 50);
  await send(other, 50);
  await expect.poll(() => sse.seqs().length).toBe(100);
  expect(sse.seqs()).toEqual(upTo(100));
  sse.close();
});

describe.each(hosts)("/mcp and the plain HTTP routes on %s", (host) => {
  it("return a webhook to a client with a token", async () => {
    const hub = await startFor(host)();
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
