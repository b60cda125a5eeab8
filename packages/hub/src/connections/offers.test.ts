/** Lists what servers offer. Some servers return invalid answers. */
import type { ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { listen, serveRaw, serveSdk2 } from "../../../../test/support/mcp-servers.ts";
import {
  callOptions,
  catchError,
  newConnection,
  openConnections,
} from "../../../../test/support/open-connections.ts";

const tool = (name: string, fields = {}) => ({ name, inputSchema: { type: "object" }, ...fields });

const load = async (url: string) =>
  openConnections().loadOffers(await newConnection(url), callOptions());
const loadFailure = async (url: string) => catchError(load(url));

/** A server whose answers `respond` writes, after a valid handshake. */
const serveList = (respond: (response: ServerResponse) => unknown) =>
  serveRaw((_, response) => respond(response));

describe("the list of tools", () => {
  it("contains the tools of all pages, with schemas, titles and annotations", async () => {
    const { url, requests } = await serveRaw(({ params: { cursor } }) =>
      cursor === "2"
        ? { tools: [tool("c", { description: null })], nextCursor: null }
        : {
            tools: [
              tool("a", { title: "A", description: "d", outputSchema: { type: "object" } }),
              tool("b", { annotations: { readOnlyHint: true } }),
            ],
            nextCursor: "2",
          },
    );
    const { tools, server } = await load(url);
    expect(server).toEqual({ name: "raw", version: "0" });
    expect(tools).toEqual([
      {
        name: "a",
        title: "A",
        description: "d",
        inputSchema: { type: "object" },
        outputSchema: { type: "object" },
      },
      {
        name: "b",
        description: "",
        inputSchema: { type: "object" },
        annotations: { readOnlyHint: true },
      },
      { name: "c", description: "", inputSchema: { type: "object" } },
    ]);
    expect(requests.filter(({ method }) => method === "tools/list")).toHaveLength(2);
  });

  it("is empty if the server declares no tools", async () => {
    const { url, requests } = await serveRaw(() => ({}), { capabilities: {} });
    expect(await load(url)).toMatchObject({ tools: [], triggers: [] });
    expect(requests.map(({ method }) => method)).not.toContain("tools/list");
  });

  it.each([
    [{}, "tools must be an array"],
    [{ tools: "none" }, "tools must be an array"],
    [{ tools: [tool("a"), { name: "b" }] }, "tools[1].inputSchema must be an object"],
    [{ tools: [tool("")] }, "tools[0].name must not be empty"],
    [{ tools: [tool("a", { description: 1 })] }, "tools[0].description must be a string"],
  ])("is rejected if it is invalid: %j", async (result, message) => {
    const { url } = await serveRaw(() => result);
    expect(await loadFailure(url)).toMatchObject({
      code: "invalid_response",
      message: `The server's answer to tools/list is invalid: ${message}.`,
    });
  });

  it("is rejected above 1,000 tools, and if its pages do not end", async () => {
    const tools = Array.from({ length: 501 }, (_, index) => tool(`t${index}`));
    const large = await serveRaw(({ params: { cursor } }) => ({
      tools,
      ...(cursor ? {} : { nextCursor: "2" }),
    }));
    expect(await loadFailure(large.url)).toMatchObject({
      code: "too_large",
      message: "The server has more than 1000 tools, which is the limit.",
    });
    const endless = await serveRaw(() => ({ tools: [], nextCursor: "1" }));
    expect(await loadFailure(endless.url)).toMatchObject({
      code: "invalid_response",
      message: expect.stringContaining("do not end"),
    });
  });

  it.each([
    ["application/json", ""],
    ["text/event-stream", "data: "],
  ])("is rejected while it streams if it has 50 MB as %s", async (type, prefix) => {
    let sent = 0;
    const { url } = await serveList((response) => {
      response.writeHead(200, { "content-type": type });
      response.write(`${prefix}{"jsonrpc":"2.0","id":1,"result":{"tools":[`);
      const chunk = `${JSON.stringify(tool("x".repeat(1000)))},`.repeat(1_000);
      const writeMore = () => {
        while (sent < 50 && !response.destroyed) {
          sent += 1;
          if (!response.write(chunk)) return void response.once("drain", writeMore);
        }
      };
      writeMore();
    });
    expect(await loadFailure(url)).toMatchObject({
      code: "too_large",
      message: expect.stringContaining("4 MiB"),
    });
    expect(sent).toBeLessThan(30);
  });

  it("is rejected if all its pages together exceed 4 MiB", async () => {
    const description = "x".repeat(1024 * 1024);
    let page = 0;
    const { url } = await serveRaw(() => {
      page += 1;
      return { tools: [tool(`t${page}`, { description })], nextCursor: String(page) };
    });
    expect(await loadFailure(url)).toMatchObject({
      code: "too_large",
      message: "The server's answer exceeds the limit of 4 MiB.",
    });
    expect(page).toBe(4);
  });
});

describe("triggers", () => {
  it("are listed if the server has the tools TRIGGER_LIST and TRIGGER_CONFIGURE", async () => {
    const { url } = await serveSdk2(
      {
        TRIGGER_LIST: () => ({ triggers: [{ type: "rain", description: "It rains" }] }),
        TRIGGER_CONFIGURE: () => ({ success: true }),
      },
      {
        definitions: [
          tool("TRIGGER_CONFIGURE", {
            inputSchema: { type: "object", properties: { subscriptionId: { type: "string" } } },
          }),
        ],
      },
    );
    expect(await load(url)).toMatchObject({
      perSubscription: true,
      tools: [{ name: "TRIGGER_LIST" }, { name: "TRIGGER_CONFIGURE" }],
      triggers: [{ type: "rain", description: "It rains", binding: "callback" }],
    });
  });

  it("include the event types of the MCP Events draft, except those that are only pushed", async () => {
    const inputSchema = { type: "object", properties: { city: { type: "string" } } };
    const { url } = await serveRaw(
      ({ method, params: { cursor } }) =>
        method !== "events/list"
          ? { tools: [] }
          : cursor
            ? { events: [{ name: "live", delivery: ["push"] }] }
            : {
                events: [
                  { name: "rain", description: "It rains", delivery: ["poll"], inputSchema },
                ],
                nextCursor: "2",
              },
      { capabilities: { tools: {}, events: { listChanged: true } } },
    );
    expect((await load(url)).triggers).toEqual([
      {
        type: "rain",
        description: "It rains",
        binding: "events",
        inputSchema,
        paramsSchema: { city: { type: "string" } },
      },
    ]);
  });

  it("can be polled with events/poll", async () => {
    const { url } = await serveRaw(({ method, params }) => ({ method, params }), {
      capabilities: { events: {} },
    });
    const connection = await newConnection(url);
    const params = { name: "rain", cursor: null };
    const answer = await openConnections().request(
      connection,
      "events/poll",
      params,
      callOptions(),
    );
    expect(answer).toEqual({ method: "events/poll", params });
  });
});

describe("an invalid answer", () => {
  it.each<[string, (response: ServerResponse) => unknown, string, RegExp]>([
    [
      "a web page",
      (response) =>
        response
          .writeHead(200, { "content-type": "text/html" })
          .end("<!doctype html><title>Welcome</title>"),
      "invalid_response",
      /content type text\/html instead of application\/json or text\/event-stream/,
    ],
    [
      "a web page with an error",
      (response) =>
        response
          .writeHead(404, { "content-type": "text/html" })
          .end("<!doctype html><title>Not here</title>"),
      "rejected",
      /^The server answered HTTP 404: a web page with the title "Not here"\.$/,
    ],
    [
      "broken JSON",
      (response) => response.writeHead(200, { "content-type": "application/json" }).end('{"a"'),
      "invalid_response",
      /not valid JSON/,
    ],
    [
      "JSON that is not JSON-RPC",
      (response) => response.writeHead(200, { "content-type": "application/json" }).end('{"a":1}'),
      "invalid_response",
      /JSON, but not a JSON-RPC message/,
    ],
    [
      "the answer to another request",
      (response) =>
        response
          .writeHead(200, { "content-type": "application/json" })
          .end('{"jsonrpc":"2.0","id":"other","result":{}}'),
      "invalid_response",
      /ended without an answer/,
    ],
    [
      "an event stream with broken JSON",
      (response) =>
        response.writeHead(200, { "content-type": "text/event-stream" }).end("data: {oops\n\n"),
      "invalid_response",
      /ended without an answer/,
    ],
    ["202 Accepted", (response) => response.writeHead(202).end(), "invalid_response", /without an/],
    [
      "an error in a format of its own",
      (response) =>
        response
          .writeHead(403, { "content-type": "application/json" })
          .end('{"error":"quota of this plan is used up"}'),
      "unauthorized",
      /HTTP 403: quota of this plan is used up\. Check the credentials/,
    ],
    [
      "a redirect to a private address",
      (response) => response.writeHead(307, { location: "http://10.0.0.1/admin?token=x" }).end(),
      "invalid_target",
      /^The server redirects to http:\/\/10\.0\.0\.1\/admin\. Only .* same origin .*use its URL\.$/,
    ],
  ])("causes an error that describes it: %s", async (_, respond, code, message) => {
    const afterHandshake = await loadFailure((await serveList(respond)).url);
    expect(afterHandshake).toMatchObject({ code, message: expect.stringMatching(message) });
    const { url } = await listen((_request, response) => respond(response));
    expect((await loadFailure(url)).code).toBe(code);
  });
});

it.each([301, 302, 307, 308])(
  "follows a redirect with status %i within the origin, as POST",
  async (status) => {
    const { url } = await serveSdk2({ echo: (args) => args });
    const redirects = await listen(async (request, response) => {
      if (request.url === "/mcp")
        return void response.writeHead(status, { location: "/mcp/" }).end();
      const answer = await fetch(url, {
        method: request.method ?? "",
        headers: request.headers as Record<string, string>,
        ...(request.method === "POST" && { body: await text(request) }),
      });
      response
        .writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" })
        .end(await answer.text());
    });
    const connections = openConnections();
    const connection = await newConnection(redirects.url);
    expect((await connections.loadOffers(connection, callOptions())).tools).toHaveLength(1);
    const answer = await connections.callTool(
      connection,
      { tool: "echo", arguments: { a: 1 } },
      callOptions(),
    );
    expect(answer.structuredContent).toEqual({ a: 1 });
  },
);

it.each([301, 302, 303, 307, 308])(
  "does not follow a redirect with status %i to another origin",
  async (status) => {
    const requests: unknown[] = [];
    const other = await listen((request, response) => {
      requests.push(request.headers);
      response.end();
    });
    const { url } = await listen((_, response) =>
      response.writeHead(status, { location: other.url }).end(),
    );
    const connection = await newConnection(url, { auth: { type: "bearer", token: "secret" } });
    expect(await catchError(openConnections().loadOffers(connection, callOptions()))).toMatchObject(
      {
        code: "invalid_target",
        message: expect.stringContaining(`redirects to ${other.url}. Only`),
      },
    );
    expect(requests).toEqual([]);
  },
);

it("calls one server without delay while others hang or send invalid answers", async () => {
  const good = await serveSdk2({ echo: (args) => args });
  const hangs = await listen(() => {});
  const stalls = await serveList((response) => response.writeHead(200).flushHeaders());
  const invalid = await listen((_, response) => response.end("<html>"));
  const floods = await serveList((response) => {
    response.writeHead(200, { "content-type": "application/json" });
    const writeMore = () => {
      while (!response.destroyed)
        if (!response.write(" ".repeat(65_536))) return void response.once("drain", writeMore);
    };
    writeMore();
  });
  const redirects = await listen((_, response) =>
    response.writeHead(307, { location: "http://169.254.169.254/" }).end(),
  );
  const connections = openConnections();
  const stop = new AbortController();
  const failures = [];
  for (const { url } of [hangs, stalls, invalid, floods, redirects]) {
    const connection = await newConnection(url);
    for (let count = 0; count < 20; count += 1)
      failures.push(
        catchError(connections.loadOffers(connection, callOptions({ signal: stop.signal }))),
      );
  }
  const connection = await newConnection(good.url);
  const call = { tool: "echo", arguments: {} };
  for (let count = 0; count < 50; count += 1)
    await connections.callTool(connection, call, callOptions({ timeoutMs: 5_000 }));
  stop.abort();
  const codes = new Set((await Promise.all(failures)).map(({ code }) => code));
  expect(codes).toEqual(new Set(["cancelled", "invalid_response", "too_large", "invalid_target"]));
});
