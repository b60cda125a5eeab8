/** Against servers on a real socket that behave as hubs, proxies and strangers do. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { createHubClient } from "./hub-client.ts";

type Answer = (
  message: { id?: number; method: string },
  response: ServerResponse,
  request: IncomingMessage,
) => void;

const json = (response: ServerResponse, body: unknown, headers: Record<string, string> = {}) =>
  void response
    .writeHead(200, { "content-type": "application/json", ...headers })
    .end(JSON.stringify(body));

async function start(answer: Answer) {
  const methods: string[] = [];
  const server = createServer(async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const message = JSON.parse(await text(request));
    methods.push(message.method);
    if (message.method === "notifications/initialized") return void response.writeHead(202).end();
    answer(message, response, request);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const hub = createHubClient({ url, token: "t" });
  onTestFinished(hub.close);
  return { hub, methods, server, url };
}

const hello = (id: number | undefined) => ({
  jsonrpc: "2.0",
  id,
  result: {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "hub", version: "1" },
  },
});
const done = (id: number | undefined) => ({
  jsonrpc: "2.0",
  id,
  result: { content: [{ type: "text", text: "done" }] },
});

const call = { name: "get_pending_status", arguments: {} };

describe("createHubClient", () => {
  it("opens one session for many calls, and a new one when it has expired", async () => {
    let current = 0;
    const { hub, methods } = await start(({ id, method }, response, request) => {
      if (method === "initialize") {
        current += 1;
        return json(response, hello(id), { "mcp-session-id": `s${current}` });
      }
      if (request.headers["mcp-session-id"] !== `s${current}`)
        return void response.writeHead(404, { "content-type": "application/json" }).end("{}");
      json(response, done(id));
    });
    await Promise.all([1, 2, 3].map(() => hub.request("tools/call", call)));
    await hub.request("tools/call", call);
    expect(methods.filter((method) => method === "initialize")).toHaveLength(1);
    current = 7;
    expect(await hub.request("tools/call", call)).toMatchObject({ content: [{ text: "done" }] });
    expect(methods.filter((method) => method === "initialize")).toHaveLength(2);
  });

  it("tries again once when the connection broke, and no more", async () => {
    let broken = 1;
    const { hub, methods } = await start(({ id, method }, response) => {
      if (method === "initialize") return json(response, hello(id));
      broken -= 1;
      if (broken >= 0) return void response.destroy();
      json(response, done(id));
    });
    expect(await hub.request("tools/call", call)).toMatchObject({ content: [{ text: "done" }] });
    broken = 99;
    await expect(hub.request("tools/call", call)).rejects.toMatchObject({ code: "unreachable" });
    expect(methods.filter((method) => method === "tools/call")).toHaveLength(4);
  });

  it.each([
    ["an early end", (response: ServerResponse) => void response.end(": hi\n\n")],
    ["a break", (response: ServerResponse) => void response.destroy()],
  ])("does not wait for the answer of a stream with %s", async (_, end) => {
    const { hub } = await start(({ id, method }, response) => {
      if (method === "initialize") return json(response, hello(id));
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": hi\n\n", () => setTimeout(() => end(response), 20));
    });
    await expect(hub.request("tools/call", call)).rejects.toMatchObject({ code: "unreachable" });
  });

  it.each<[string, number, string, string, string]>([
    ["a page", 200, "text/html", "<!doctype html>", "not JSON but text/html"],
    ["no JSON where it says JSON", 200, "application/json", "<oops>", "not JSON as MCP has it"],
    ["other JSON", 200, "application/json", '{"ok":true}', "not JSON as MCP has it"],
    ["a proxy's error", 502, "text/html", "<h1>Bad gateway</h1>", "answered 502: Bad Gateway"],
    ["a problem", 403, "application/problem+json", '{"detail":"Not you."}', "403: Not you."],
    ["no such path", 404, "text/plain", "nope", "404, not found"],
    ["a refusal", 401, "application/json", "{}", "check SIGNALBOX_TOKEN"],
  ])("%s is an error in plain words", async (_, status, type, body, words) => {
    const { hub } = await start((_message, response) => {
      response.writeHead(status, { "content-type": type }).end(body);
    });
    const failed = await hub.request("tools/list", undefined).catch((error: unknown) => error);
    expect(failed).toMatchObject({ message: expect.stringContaining(words) });
    expect(failed).not.toBeInstanceOf(SyntaxError);
  });

  it("passes the hub's own errors on, and does not try again", async () => {
    const { hub, methods } = await start(({ id, method }, response) =>
      json(
        response,
        method === "initialize"
          ? hello(id)
          : { jsonrpc: "2.0", id, error: { code: -32602, message: "There is no tool x." } },
      ),
    );
    await expect(hub.request("tools/call", call)).rejects.toMatchObject({ code: -32602 });
    expect(methods.filter((method) => method === "tools/call")).toHaveLength(1);
  });
});
