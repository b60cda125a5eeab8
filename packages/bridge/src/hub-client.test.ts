/** Tests against local servers that behave like hubs, proxies and other web servers. */
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { fixedAccess } from "./access.ts";
import { createHubClient } from "./hub-client.ts";

type Respond = (
  message: { id?: number; method: string; params?: { name?: string; cursor?: string } },
  response: ServerResponse,
  request: IncomingMessage,
  /** Resolves when the client has received the headers of this response. */
  headersReceived: Promise<unknown>,
) => void;

const json = (response: ServerResponse, body: unknown, headers: Record<string, string> = {}) =>
  void response
    .writeHead(200, { "content-type": "application/json", ...headers })
    .end(JSON.stringify(body));

async function start(respond: Respond) {
  const methods: string[] = [];
  const received = new EventEmitter();
  const server = createServer(async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const body = await text(request);
    const message = JSON.parse(body);
    methods.push(message.method);
    if (message.method === "notifications/initialized") return void response.writeHead(202).end();
    respond(message, response, request, once(received, body));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const hub = createHubClient({
    url,
    access: fixedAccess(url, "t"),
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      received.emit(String(init?.body));
      return response;
    },
  });
  onTestFinished(hub.close);
  return { hub, methods, server, url };
}

const initializeResult = (id: number | undefined) => ({
  jsonrpc: "2.0",
  id,
  result: {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "hub", version: "1" },
  },
});
const toolResult = (id: number | undefined) => ({
  jsonrpc: "2.0",
  id,
  result: { content: [{ type: "text", text: "done" }] },
});

const call = { name: "get_pending_status", arguments: {} };

describe("createHubClient", () => {
  it("opens one session for many calls, and a new one after it expires", async () => {
    let current = 0;
    const { hub, methods } = await start(({ id, method }, response, request) => {
      if (method === "initialize") {
        current += 1;
        return json(response, initializeResult(id), { "mcp-session-id": `s${current}` });
      }
      if (request.headers["mcp-session-id"] !== `s${current}`)
        return void response.writeHead(404, { "content-type": "application/json" }).end("{}");
      json(response, toolResult(id));
    });
    await Promise.all([1, 2, 3].map(() => hub.request("tools/call", call)));
    await hub.request("tools/call", call);
    expect(methods.filter((method) => method === "initialize")).toHaveLength(1);
    current = 7;
    expect(await hub.request("tools/call", call)).toMatchObject({ content: [{ text: "done" }] });
    expect(methods.filter((method) => method === "initialize")).toHaveLength(2);
  });

  const annotated = (id: number | undefined, cursor: unknown) => ({
    jsonrpc: "2.0",
    id,
    result:
      cursor === undefined
        ? { tools: [listed("get_pending_status", { readOnlyHint: true })], nextCursor: "2" }
        : {
            tools: [
              listed("mark_processed", { readOnlyHint: false, idempotentHint: true }),
              listed("claim_events", { readOnlyHint: false, idempotentHint: false }),
              listed("replay_event"),
            ],
          },
  });
  const listed = (name: string, annotations?: object) => ({
    name,
    inputSchema: { type: "object" },
    ...(annotations ? { annotations } : {}),
  });

  /** A hub that executes requests, but loses the next `lossy.remaining` responses. */
  async function startLossy(lose: Lose) {
    const lossy = { remaining: 0 };
    const started = await start(({ id, method, params }, response, _, headersReceived) => {
      if (method === "initialize")
        return json(response, initializeResult(id), { "mcp-session-id": "s" });
      if (method === "tools/list" && lossy.remaining <= 0)
        return json(response, annotated(id, params?.cursor));
      lossy.remaining -= 1;
      if (lossy.remaining >= 0) return lose(response, headersReceived);
      json(response, toolResult(id));
    });
    const calls = () => started.methods.filter((method) => method === "tools/call").length;
    return { ...started, lossy, calls };
  }

  type Lose = (response: ServerResponse, headersReceived: Promise<unknown>) => void;
  const losses: [string, Lose][] = [
    ["a broken connection", (response) => void response.destroy()],
    [
      "half a response",
      (response, headersReceived) => {
        response.writeHead(200, { "content-type": "application/json", "content-length": "99" });
        response.write('{"jsonrpc"');
        void headersReceived.then(() => response.destroy());
      },
    ],
    [
      "a stream that ends",
      (response) => void response.writeHead(200, { "content-type": "text/event-stream" }).end(),
    ],
  ];

  it.each(losses)("retries an idempotent call once after %s", async (_, lose) => {
    const { hub, lossy, calls } = await startLossy(lose);
    for (const name of ["get_pending_status", "mark_processed"]) {
      lossy.remaining = 1;
      expect(await hub.request("tools/call", { name })).toMatchObject({
        content: [{ text: "done" }],
      });
    }
    expect(calls()).toBe(4);
    lossy.remaining = 1;
    expect(await hub.request("tools/list", {})).toMatchObject({ tools: [{}] });
    lossy.remaining = 99;
    await expect(hub.request("resources/list", {})).rejects.toMatchObject({ code: "lost" });
    expect(lossy.remaining).toBe(97);
  });

  it.each(losses)("does not retry other calls after %s", async (_, lose) => {
    const { hub, lossy, calls } = await startLossy(lose);
    for (const name of ["claim_events", "replay_event", "unheard_of"]) {
      lossy.remaining = 1;
      await expect(hub.request("tools/call", { name })).rejects.toMatchObject({
        code: "lost",
        message: expect.stringContaining(`may have executed ${name}`),
      });
    }
    expect(calls()).toBe(3);
    expect(await hub.request("tools/call", { name: "claim_events" })).toMatchObject({
      content: [{ text: "done" }],
    });
  });

  it("retries a call that was not processed because the session had expired or no server was listening", async () => {
    let [expired, refused] = [false, 0];
    const { methods, url } = await start(({ id, method }, response) => {
      if (method === "initialize") {
        expired = false;
        return json(response, initializeResult(id), { "mcp-session-id": "s" });
      }
      if (expired) return void response.writeHead(404).end();
      json(response, toolResult(id));
    });
    const closed = createServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const hub = createHubClient({
      url,
      access: fixedAccess(url, "t"),
      fetch: async (input, init) => {
        refused -= 1;
        return fetch(refused >= 0 ? `http://127.0.0.1:${port}` : input, init);
      },
    });
    onTestFinished(hub.close);
    const claim = () => hub.request("tools/call", { name: "claim_events" });
    const calls = () => methods.filter((method) => method === "tools/call").length;
    await claim();
    expired = true;
    expect(await claim()).toMatchObject({ content: [{ text: "done" }] });
    expect(calls()).toBe(3);
    refused = 1;
    expect(await claim()).toMatchObject({ content: [{ text: "done" }] });
    expect(calls()).toBe(4);
    refused = 99;
    const failed = await claim().catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: "unreachable" });
    expect(String(failed)).not.toContain("may have executed");
  });

  it("sends a waiting call in a new session if the first session fails to open", async () => {
    let broken = 1;
    const { hub, methods } = await start(({ id, method }, response) => {
      if (method !== "initialize") return json(response, toolResult(id));
      broken -= 1;
      if (broken >= 0) return void response.destroy();
      json(response, initializeResult(id));
    });
    expect(await hub.request("tools/call", { name: "claim_events" })).toMatchObject({
      content: [{ text: "done" }],
    });
    expect(methods.filter((method) => method === "tools/call")).toHaveLength(1);
  });

  it("reports that the call may have been executed if the second response is lost", async () => {
    let sessions = 0;
    const { hub, methods } = await start(({ id, method }, response) => {
      if (method === "initialize") {
        sessions += 1;
        return json(response, initializeResult(id), { "mcp-session-id": `s${sessions}` });
      }
      if (method === "tools/list") return json(response, annotated(id, "2"));
      if (sessions === 1) return void response.writeHead(404).end();
      response.destroy();
    });
    await expect(hub.request("tools/call", { name: "claim_events" })).rejects.toThrow(
      "may have executed claim_events",
    );
    expect(methods.filter((method) => method === "tools/call")).toHaveLength(2);
  });

  it("does not abort other calls if one connection breaks", async () => {
    const slow: (() => void)[] = [];
    const { hub } = await start(({ id, method, params }, response) => {
      if (method === "initialize")
        return json(response, initializeResult(id), { "mcp-session-id": "s" });
      if (params?.name === "wait_for_event") slow.push(() => json(response, toolResult(id)));
      else response.destroy();
    });
    const waiting = hub.request("tools/call", { name: "wait_for_event" });
    await expect.poll(() => slow.length).toBe(1);
    await expect(hub.request("tools/call", { name: "claim_events" })).rejects.toThrow();
    slow[0]?.();
    expect(await waiting).toMatchObject({ content: [{ text: "done" }] });
    expect(slow).toHaveLength(1);
  });

  it.each([
    ["an early end", (response: ServerResponse) => void response.end(": hi\n\n")],
    ["a broken connection", (response: ServerResponse) => void response.destroy()],
  ])("fails before the timeout after a stream with %s", async (_, end) => {
    const { hub } = await start(({ id, method }, response, _, headersReceived) => {
      if (method === "initialize") return json(response, initializeResult(id));
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": hi\n\n");
      void headersReceived.then(() => end(response));
    });
    await expect(hub.request("tools/call", call)).rejects.toMatchObject({ code: "lost" });
  });

  it.each<[string, number, string, string, string]>([
    ["an HTML page", 200, "text/html", "<!doctype html>", "not JSON but text/html"],
    ["invalid JSON", 200, "application/json", "<oops>", "not an MCP message"],
    ["JSON that is not MCP", 200, "application/json", '{"ok":true}', "not an MCP message"],
    ["a proxy's error", 502, "text/html", "<h1>Bad gateway</h1>", "returned 502: Bad Gateway"],
    [
      "a problem document",
      403,
      "application/problem+json",
      '{"detail":"Not you."}',
      "403: Not you.",
    ],
    ["an unknown path", 404, "text/plain", "nope", "404, not found"],
    ["a rejected token", 401, "application/json", "{}", "Set SIGNALBOX_TOKEN to a token of this"],
  ])("reports %s in its error message", async (_, status, type, body, message) => {
    const { hub } = await start((_message, response) => {
      response.writeHead(status, { "content-type": type }).end(body);
    });
    const failed = await hub.request("tools/list", undefined).catch((error: unknown) => error);
    expect(failed).toMatchObject({ message: expect.stringContaining(message) });
    expect(failed).not.toBeInstanceOf(SyntaxError);
  });

  it("forwards errors of the hub without a retry", async () => {
    const { hub, methods } = await start(({ id, method }, response) =>
      json(
        response,
        method === "initialize"
          ? initializeResult(id)
          : { jsonrpc: "2.0", id, error: { code: -32602, message: "There is no tool x." } },
      ),
    );
    await expect(hub.request("tools/call", call)).rejects.toMatchObject({ code: -32602 });
    expect(methods.filter((method) => method === "tools/call")).toHaveLength(1);
  });
});
