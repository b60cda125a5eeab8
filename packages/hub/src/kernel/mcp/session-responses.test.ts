import { Server, type ServerContext } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import { createOpenStreams } from "./open-streams.ts";
import { readCall } from "./read-call.ts";
import { createResourceChanges } from "./resource-changes.ts";
import { createSessions } from "./sessions.ts";

const access = { token: "ada", name: "ada", scopes: ["inbox:read" as const], tenants: ["acme"] };

/** Request handlers that react differently when they are cancelled. */
const reactions = {
  async stop({ mcpReq: { signal } }: ServerContext) {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return {};
  },
  async fail({ mcpReq: { signal } }: ServerContext) {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    throw new Error("cancelled");
  },
  ignore: () => new Promise<never>(() => {}),
};

function setup() {
  /** The results of the handlers, by request id. */
  const inProgress = new Map<unknown, PromiseWithResolvers<{ done: string }>>();
  const servers: Server[] = [];
  const createServer = () => {
    const server = new Server({ name: "test", version: "1" }, { capabilities: {} });
    servers.push(server);
    server.fallbackRequestHandler = async ({ method }, context) => {
      const { id } = context.mcpReq;
      const result = Promise.withResolvers<{ done: string }>();
      inProgress.set(id, result);
      return Object.hasOwn(reactions, method)
        ? reactions[method as keyof typeof reactions](context)
        : result.promise;
    };
    return server;
  };
  const changes = createResourceChanges({ subscribe: () => () => {} }, Date.now);
  const streams = createOpenStreams({ watch: () => () => {} });
  const sessions = createSessions({
    createServer,
    subscriptions: () => ({ uris: new Set(), notify() {} }),
    changes,
    streams,
    now: () => 0,
    maxPerToken: 2,
  });
  const { close } = sessions;
  onTestFinished(close);
  const serve = async (session: string, method: string, messages?: unknown) => {
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(session && { "mcp-session-id": session }),
    };
    const body = messages ? JSON.stringify(messages) : null;
    const request = new Request("http://hub/mcp", { method, headers, body });
    const call = await readCall(request);
    if (call instanceof Response) return call;
    const requestContext = { access, reserveBytes: async () => {}, body: call.body };
    return (await sessions.serve(call.request, requestContext)) as Response;
  };
  const message = (method: string, id?: unknown, params = {}) => ({
    jsonrpc: "2.0",
    method,
    params,
    ...(id !== undefined && { id }),
  });
  const call = (session: string, id: unknown, method = "hold") =>
    serve(session, "POST", message(method, id));
  const cancelled = (params: object) => message("notifications/cancelled", undefined, params);
  const cancel = async (session: string, params: object) =>
    (await serve(session, "POST", cancelled(params))).status;
  const open = async (): Promise<string> => {
    const params = {
      protocolVersion: "2025-03-26",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    };
    const response = await serve("", "POST", message("initialize", 0, params));
    await response.text();
    return response.headers.get("mcp-session-id") ?? "";
  };
  const end = (session: string) => serve(session, "DELETE");
  const post = (session: string, messages: object[]) => serve(session, "POST", messages);
  /** An idle session is evicted when others are opened. */
  const isIdle = async (session: string) => {
    await open();
    await open();
    return (await call(session, "idle", "ping")).status === 404;
  };
  /** The keys of all maps in the SDK's transport of the first session. */
  const sdkKeys = () =>
    Object.values(servers[0]?.transport ?? {}).flatMap((value: unknown) =>
      value instanceof Map ? [...value.keys()] : [],
    );
  const finish = (id: unknown) => inProgress.get(id)?.resolve({ done: `${id}` });
  return { call, cancel, cancelled, message, post, open, end, close, isIdle, finish, sdkKeys };
}

/** The ids of the responses in a stream that has ended. */
const responseIds = async (response: Response) =>
  [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(
    ([, data = ""]) => (JSON.parse(data) as { id: unknown }).id,
  );

it.each(Object.keys(reactions))(
  "ends the stream of a cancelled request, with the handler %s",
  async (method) => {
    const { call, cancel, open, isIdle, sdkKeys } = setup();
    const session = await open();
    const responses = [];
    for (let id = 1; id <= 10; id += 1) {
      responses.push(await call(session, id, method));
      expect(await cancel(session, { requestId: id })).toBe(202);
    }
    for (const response of responses) expect(await response.text()).toBe("");
    expect(sdkKeys()).toEqual([]);
    expect(await isIdle(session)).toBe(true);
  },
);

it("accepts the id of a cancelled request again", async () => {
  const { call, cancel, open, finish } = setup();
  const session = await open();
  const first = await call(session, 1);
  await cancel(session, { requestId: 1 });
  const second = await call(session, 1);
  expect(await first.text()).toBe("");
  finish(1);
  expect(await responseIds(second)).toEqual([1]);
});

it("ignores cancellations of unknown or finished requests", async () => {
  const { call, cancel, open, finish, isIdle } = setup();
  const [session, other] = [await open(), await open()];
  const [first, second] = [await call(session, 1), await call(other, 2)];
  const stopped = await call(session, 3);
  const done = await call(session, 4);
  finish(4);
  expect(await responseIds(done)).toEqual([4]);
  for (const params of [
    { requestId: 3 },
    { requestId: 3 },
    { requestId: 4 }, // finished
    { requestId: 2 }, // belongs to another session
    { requestId: "1" },
    { requestId: 5 },
    { requestId: { 1: 1 } },
    { requestId: 1, reason: 7 },
    {},
  ])
    expect(await cancel(session, params)).toBe(202);
  expect(await stopped.text()).toBe("");
  finish(1);
  finish(2);
  expect([await responseIds(first), await responseIds(second)]).toEqual([[1], [2]]);
  expect(await isIdle(session)).toBe(true);
});

it.each(["before", "after"])(
  "ends the stream of a batch if one request is cancelled %s the other is answered",
  async (when) => {
    const { post, message, cancel, open, finish, isIdle, sdkKeys } = setup();
    const session = await open();
    const response = await post(session, [message("hold", 1), message("stop", 2)]);
    if (when === "after") finish(1);
    await new Promise(setImmediate);
    await cancel(session, { requestId: 2 });
    if (when === "before") finish(1);
    expect(await responseIds(response)).toEqual([1]);
    expect(sdkKeys()).toEqual([]);
    expect(await isIdle(session)).toBe(true);
  },
);

it("accepts a cancellation in the same batch as its request", async () => {
  const { post, message, cancelled, open } = setup();
  const session = await open();
  const batch = [message("stop", 1), cancelled({ requestId: 1 })];
  expect(await (await post(session, batch)).text()).toBe("");
});

it("responds only to the later of two requests with the same id, and ends the other stream", async () => {
  const { call, open, finish, isIdle } = setup();
  const session = await open();
  const first = await call(session, 1);
  const second = await call(session, 1);
  expect(await first.text()).toBe("");
  finish(1);
  expect(await responseIds(second)).toEqual([1]);
  expect(await isIdle(session)).toBe(true);
});

it.each([
  ["its session", ({ end }: ReturnType<typeof setup>, session: string) => end(session)],
  ["the hub", ({ close }: ReturnType<typeof setup>) => close()],
])("ends the streams of requests in progress when %s is closed", async (_, end) => {
  const context = setup();
  const session = await context.open();
  const responses = [await context.call(session, 1), await context.call(session, 2, "ignore")];
  await end(context, session);
  for (const response of responses) expect(await response.text()).toBe("");
});
