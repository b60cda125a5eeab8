import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { followHub, type StreamMessage } from "./follow-hub.ts";
import { createHubClient } from "./hub-client.ts";

type Responder = (request: IncomingMessage, response: ServerResponse) => void;

const frame = (id: string, data: object) => `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
const CONNECTED = { status: "connected", log: "abc@0a1b2c3d" };
const eventOf = (seq: number) => ({ event_id: `e${seq}`, type: "issues", source: "github", seq });

/** Starts a hub that handles each connection with the next responder, and all further ones with the last. */
async function startHub(responders: Responder[]) {
  const requests: URL[] = [];
  const server = createServer((request, response) => {
    requests.push(new URL(request.url ?? "", "http://hub"));
    const respond = responders[requests.length - 1] ?? responders.at(-1);
    respond?.(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  onTestFinished(async () => void (server.listening && (await stop())));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, requests, stop };
}

const open = (response: ServerResponse) =>
  response.writeHead(200, { "content-type": "text/event-stream" });
const reject =
  (status: number, code: string): Responder =>
  (_, response) =>
    response
      .writeHead(status, { "content-type": "application/problem+json" })
      .end(JSON.stringify({ status, code, detail: `rejected: ${code}` }));

function follow(url: string, options: Partial<Parameters<typeof followHub>[0]> = {}) {
  const stopped = new AbortController();
  const notes: string[] = [];
  const messages: StreamMessage[] = [];
  const location = { url, token: "sbx_x", isTokenGiven: true, from: "settings" as const };
  const run = async () => {
    for await (const message of followHub({
      connect: () => createHubClient(location),
      signal: stopped.signal,
      onLost: () => notes.push("lost"),
      onBack: () => notes.push("back"),
      firstRetryMs: 1,
      ...options,
    }))
      messages.push(message);
  };
  const ended = run();
  ended.catch(() => {});
  const seqs = () =>
    messages.flatMap((message) => (message.kind === "event" ? [message.event.seq] : []));
  return { messages, notes, seqs, stop: () => stopped.abort(), ended };
}

it("resumes after the last message of the same database if a connection ends or breaks", async () => {
  const hub = await startHub([
    (_, response) => open(response).end(frame("5", CONNECTED) + frame("6", eventOf(6))),
    (_, response) => open(response).end(frame("6", CONNECTED) + frame("9", { heartbeat: 1 })),
    (_, response) => {
      open(response).write(frame("9", CONNECTED));
      response.write(frame("10", eventOf(10)), () => response.destroy());
    },
    (_, response) => void response.destroy(),
    (_, response) => {
      open(response).write(
        `${frame("10", CONNECTED)}event: truncated\ndata: {"detail":"gone"}\n\n`,
      );
      response.write(frame("12", eventOf(12)));
    },
  ]);
  const { messages, notes, seqs, stop, ended } = follow(hub.url, { query: { type: "issues" } });
  await expect.poll(seqs).toEqual([6, 10, 12]);
  expect(messages).toContainEqual({ kind: "truncated", detail: "gone" });
  stop();
  await ended;
  expect(hub.requests.map(({ searchParams }) => searchParams.get("after"))).toEqual([
    null,
    "6@0a1b2c3d",
    "9@0a1b2c3d",
    "10@0a1b2c3d",
    "10@0a1b2c3d",
  ]);
  expect(hub.requests.every(({ searchParams }) => searchParams.get("type") === "issues")).toBe(
    true,
  );
  expect(notes).toEqual(["lost", "back", "lost", "back", "lost", "back"]);
});

it("throws if no hub responds, or if the hub rejects the first request", async () => {
  const stopped = await startHub([]);
  await stopped.stop();
  await expect(follow(stopped.url).ended).rejects.toThrow(`No response from ${stopped.url}`);
  const hub = await startHub([reject(401, "token_unknown")]);
  await expect(follow(hub.url).ended).rejects.toThrow("rejects the token");
  expect(hub.requests).toHaveLength(1);
});

it("throws if the hub rejects the cursor later, but retries a rejected token several times", async () => {
  const connect: Responder = (_, response) => open(response).end(frame("5", CONNECTED));
  const cursor = await startHub([connect, reject(400, "invalid_cursor")]);
  await expect(follow(cursor.url).ended).rejects.toThrow("invalid_cursor");
  expect(cursor.requests).toHaveLength(2);
  const revoked = await startHub([connect, reject(401, "token_revoked")]);
  await expect(follow(revoked.url).ended).rejects.toThrow("token_revoked");
  expect(revoked.requests.length).toBeGreaterThan(3);
});

it("reconnects if the hub sends no message for the idle timeout", async () => {
  const silent: Responder = (_, response) => void open(response).write(frame("5", CONNECTED));
  const talking: Responder = (_, response) => {
    open(response).write(frame("5", CONNECTED) + frame("6", eventOf(6)));
  };
  const hub = await startHub([silent, talking]);
  const { seqs, stop } = follow(hub.url, { idleTimeoutMs: 100 });
  await expect.poll(seqs).toContain(6);
  stop();
});
