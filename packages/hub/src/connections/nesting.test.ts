/** JSON of servers that is nested too deeply for recursive functions is rejected. */
import { describe, expect, it } from "vitest";
import { serveRaw } from "../../../../test/support/mcp-servers.ts";
import {
  callOptions,
  catchError,
  newConnection,
  openConnections,
} from "../../../../test/support/open-connections.ts";
import { MAX_DEPTH } from "./limits.ts";

const DEPTHS = [MAX_DEPTH, 3_000, 20_000, 90_000];
const MESSAGE = `The server's answer is nested deeper than ${MAX_DEPTH} levels, which is the limit.`;
const tooDeep = { code: "too_large", message: MESSAGE };

const arrays = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

/** `result` returns JSON text, because `JSON.stringify` fails for values that are nested this deeply. */
const serve = (result: (method: string) => string, type: "json" | "sse") =>
  serveRaw(({ id, method }, response) => {
    const message = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result(method)}}`;
    const isJson = type === "json";
    response
      .writeHead(200, { "content-type": isJson ? "application/json" : "text/event-stream" })
      .end(isJson ? message : `data: ${message}\n\n`);
  });

describe.each(["json", "sse"] as const)("an answer as %s", (type) => {
  it.each(DEPTHS)("of tools/list with %i levels fails the check", async (levels) => {
    const schema = `{"type":"object","default":${arrays(levels)}}`;
    const { url } = await serve(() => `{"tools":[{"name":"a","inputSchema":${schema}}]}`, type);
    const connection = await newConnection(url);
    expect(await catchError(openConnections().loadOffers(connection, callOptions()))).toMatchObject(
      tooDeep,
    );
  });

  it.each(DEPTHS)("of a tool with %i levels fails the call", async (levels) => {
    const { url } = await serve(
      () => `{"content":[],"structuredContent":{"a":${arrays(levels)}}}`,
      type,
    );
    const call = { tool: "echo", arguments: {} };
    const connection = await newConnection(url);
    expect(
      await catchError(openConnections().callTool(connection, call, callOptions())),
    ).toMatchObject(tooDeep);
  });
});

it("rejects the answer to events/poll if it is nested too deeply", async () => {
  const { url } = await serve(
    () => `{"events":[{"eventId":"1","name":"a","data":{"a":${arrays(3_000)}}}]}`,
    "json",
  );
  const polled = openConnections().request(
    await newConnection(url),
    "events/poll",
    {},
    callOptions(),
  );
  expect(await catchError(polled)).toMatchObject(tooDeep);
});

it("accepts an answer below the limit", async () => {
  const levels = MAX_DEPTH - 10;
  const { url } = await serve(
    () => `{"content":[],"structuredContent":{"a":${arrays(levels)}}}`,
    "json",
  );
  const call = { tool: "echo", arguments: {} };
  const answer = await openConnections().callTool(await newConnection(url), call, callOptions());
  expect(answer.structuredContent).toEqual({ a: JSON.parse(arrays(levels)) });
});

it("ignores a notification that is nested too deeply", async () => {
  const { url } = await serveRaw(({ id, params }, response) => {
    const { progressToken } = params._meta as { progressToken: unknown };
    const progress = `{"progressToken":${JSON.stringify(progressToken)},"progress":1,"x":${arrays(3_000)}}`;
    const answer = { jsonrpc: "2.0", id, result: { content: [] } };
    response
      .writeHead(200, { "content-type": "text/event-stream" })
      .write(`data: {"jsonrpc":"2.0","method":"notifications/progress","params":${progress}}\n\n`);
    response.end(`data: ${JSON.stringify(answer)}\n\n`);
  });
  const received: unknown[] = [];
  const options = callOptions({ onProgress: (progress) => received.push(progress) });
  const call = { tool: "echo", arguments: {} };
  await openConnections().callTool(await newConnection(url), call, options);
  expect(received).toEqual([]);
});

it("limits the nesting of the triggers that a server lists as text", async () => {
  const { url } = await serve((method) => {
    if (method === "tools/list")
      return JSON.stringify({
        tools: ["TRIGGER_LIST", "TRIGGER_CONFIGURE"].map((name) => ({ name, inputSchema: {} })),
      });
    const text = `{"triggers":[{"type":"a","sample":{"a":${arrays(3_000)}}}]}`;
    return JSON.stringify({ content: [{ type: "text", text }] });
  }, "json");
  const connection = await newConnection(url);
  expect(await catchError(openConnections().loadOffers(connection, callOptions()))).toMatchObject({
    code: "invalid_response",
    message: `The answer of TRIGGER_LIST is invalid: it is nested deeper than ${MAX_DEPTH} levels.`,
  });
});
