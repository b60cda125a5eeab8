import { Server, type ServerContext } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished } from "vitest";
import { createOpenStreams } from "./open-streams.ts";
import { createResourceChanges } from "./resource-changes.ts";
import { createSessions } from "./sessions.ts";

const access = { token: "ada", name: "ada", scopes: ["inbox:read" as const], tenants: ["acme"] };

/** What a request does once it is cancelled. */
const tempers = {
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
  /** By the ids of their requests. */
  const underWay = new Map<unknown, PromiseWithResolvers<{ done: string }>>();
  const servers: Server[] = [];
  const createServer = () => {
    const server = new Server({ name: "test", version: "1" }, { capabilities: {} });
    servers.push(server);
    server.fallbackRequestHandler = async ({ method }, context) => {
      const { id } = context.mcpReq;
      const held = Promise.withResolvers<{ done: string }>();
      underWay.set(id, held);
      return Object.hasOwn(tempers, method)
        ? tempers[method as keyof typeof tempers](context)
        : held.promise;
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
    return (await sessions.serve(request, { access, reserveBytes: async () => {} })) as Response;
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
  /** An idle session makes room for another. */
  const isIdle = async (session: string) => {
    await open();
    await open();
    return (await call(session, "idle", "ping")).status === 404;
  };
  /** What the SDK has in mind for the first session. */
  const kept = () =>
    Object.values(servers[0]?.transport ?? {}).flatMap((value: unknown) =>
      value instanceof Map ? [...value.keys()] : [],
    );
  const finish = (id: unknown) => underWay.get(id)?.resolve({ done: `${id}` });
  return { call, cancel, cancelled, message, post, open, end, close, isIdle, finish, kept };
}

/** The ids that were answered, once the answer has ended. */
const answeredIn = async (response: Response) =>
  [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(
    ([, data = ""]) => (JSON.parse(data) as { id: unknown }).id,
  );

it.each(Object.keys(tempers))(
  "the answer to a cancelled request ends, whether it would stop, fail or ignore it: %s",
  async (method) => {
    const { call, cancel, open, isIdle, kept } = setup();
    const session = await open();
    const answers = [];
    for (let id = 1; id <= 10; id += 1) {
      answers.push(await call(session, id, method));
      expect(await cancel(session, { requestId: id })).toBe(202);
    }
    for (const answer of answers) expect(await answer.text()).toBe("");
    expect(kept()).toEqual([]);
    expect(await isIdle(session)).toBe(true);
  },
);

it("an id may be used again once its request was cancelled", async () => {
  const { call, cancel, open, finish } = setup();
  const session = await open();
  const first = await call(session, 1);
  await cancel(session, { requestId: 1 });
  const second = await call(session, 1);
  expect(await first.text()).toBe("");
  finish(1);
  expect(await answeredIn(second)).toEqual([1]);
});

it("what cancels nothing changes nothing", async () => {
  const { call, cancel, open, finish, isIdle } = setup();
  const [session, other] = [await open(), await open()];
  const [mine, theirs] = [await call(session, 1), await call(other, 2)];
  const stopped = await call(session, 3);
  const done = await call(session, 4);
  finish(4);
  expect(await answeredIn(done)).toEqual([4]);
  for (const params of [
    { requestId: 3 },
    { requestId: 3 },
    { requestId: 4 }, // has its answer
    { requestId: 2 }, // of another session
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
  expect([await answeredIn(mine), await answeredIn(theirs)]).toEqual([[1], [2]]);
  expect(await isIdle(session)).toBe(true);
});

it.each(["before", "after"])(
  "of a batch, one that is cancelled %s the other is answered",
  async (when) => {
    const { post, message, cancel, open, finish, isIdle, kept } = setup();
    const session = await open();
    const answer = await post(session, [message("hold", 1), message("stop", 2)]);
    if (when === "after") finish(1);
    await new Promise(setImmediate);
    await cancel(session, { requestId: 2 });
    if (when === "before") finish(1);
    expect(await answeredIn(answer)).toEqual([1]);
    expect(kept()).toEqual([]);
    expect(await isIdle(session)).toBe(true);
  },
);

it("a request may be cancelled in the same batch", async () => {
  const { post, message, cancelled, open } = setup();
  const session = await open();
  const batch = [message("stop", 1), cancelled({ requestId: 1 })];
  expect(await (await post(session, batch)).text()).toBe("");
});

it("of two requests with the same id only the later is answered; the other gets no more", async () => {
  const { call, open, finish, isIdle } = setup();
  const session = await open();
  const first = await call(session, 1);
  const second = await call(session, 1);
  expect(await first.text()).toBe("");
  finish(1);
  expect(await answeredIn(second)).toEqual([1]);
  expect(await isIdle(session)).toBe(true);
});

it.each([
  ["its session", ({ end }: ReturnType<typeof setup>, session: string) => end(session)],
  ["the hub", ({ close }: ReturnType<typeof setup>) => close()],
])("a request that is under way ends with %s", async (_, end) => {
  const one = setup();
  const session = await one.open();
  const answers = [await one.call(session, 1), await one.call(session, 2, "ignore")];
  await end(one, session);
  for (const answer of answers) expect(await answer.text()).toBe("");
});
