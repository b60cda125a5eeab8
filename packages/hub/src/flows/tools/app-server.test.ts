import { expect, it, onTestFinished } from "vitest";
import type { Access } from "../../kernel/access/authorizer.ts";
import type { Run } from "../runs/model.ts";
import { createAppServers } from "./app-server.ts";

const access: Access = { token: "t", name: "t", scopes: ["flows:call"], tenants: ["acme"] };

function setup() {
  const cancelled: string[] = [];
  const started = Promise.withResolvers<void>();
  const run = Promise.withResolvers<Run>();
  const servers = createAppServers({
    store: {
      getApp: async (tenant: string, slug: string) => ({ tenant, slug, name: slug }),
      subscribe: () => () => {},
      findTool: async () => undefined,
      // There is always a next page.
      listTools: async (_: string, __: string, after: string, limit: number) =>
        Array.from({ length: limit }, (_, at) => ({
          tool_name: `.${Number(after.slice(1) || -1) + 1 + at}`,
          config: {},
        })),
      listRuns: async ({ before = "" }, limit = 50) =>
        Array.from({ length: limit }, (_, at) => ({ id: `${before}-${at}`, created_at: 0 })),
      cancelRun: async (_: string, id: string) => void cancelled.push(id),
    } as never,
    calls: {
      async *follow() {},
      async call() {
        started.resolve();
        return {
          id: "run1",
          stored: Promise.resolve(),
          ended: run.promise,
          trigger: {} as never,
          renamedTo: undefined,
        };
      },
      resultError: async () => undefined,
    },
    authorizer: { watch: () => () => {} },
    version: "0.0.0",
  });
  onTestFinished(servers.close);
  const client = new AbortController();
  const send = (headers: Record<string, string>, message: object) =>
    servers.serve(
      new Request("http://hub/mcp/app", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
        signal: client.signal,
      }),
      "app",
      access,
      async () => {},
    );
  return { servers, cancelled, started: started.promise, run, client, send };
}
type Setup = ReturnType<typeof setup>;

const openSession = async ({ send }: Setup) => {
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  };
  const opened = await send({}, { method: "initialize", params });
  await opened.text();
  return { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
};
const go = { method: "tools/call", params: { name: "go", _meta: { progressToken: 1 } } };
const callInSession = async (app: Setup) => app.send(await openSession(app), go);
const sendStateless = ({ send }: Setup, method: string, params: Record<string, string> = {}) =>
  send(
    {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(params.name !== undefined && { "mcp-name": params.name }),
    },
    {
      method,
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    },
  );
const callStateless = (app: Setup) => sendStateless(app, "tools/call", { name: "go" });
const nextTick = () => new Promise((resolve) => setImmediate(resolve));

it.each([
  ["in a session", callInSession],
  ["without a session", callStateless],
])(
  "cancels the run of a call %s if its client disconnects, but not if the hub stops",
  async (_, call) => {
    const disconnected = setup();
    const response = call(disconnected).then((streamed) => streamed.text());
    response.catch(() => {});
    await disconnected.started;
    disconnected.client.abort();
    await expect.poll(() => disconnected.cancelled).toEqual(["run1"]);

    const stopped = setup();
    call(stopped)
      .then((streamed) => streamed.text())
      .catch(() => {});
    await stopped.started;
    await stopped.servers.close();
    stopped.client.abort(); // the hub closes its connections when it stops
    for (let round = 0; round < 5; round += 1) await nextTick();
    expect(stopped.cancelled).toEqual([]);
  },
);

it("sends no response to a cancelled call in a session, and cancels its run", async () => {
  const app = setup();
  const session = await openSession(app);
  const response = await app.send(session, go);
  await app.started;
  const params = { requestId: 1 };
  await app.send(session, { id: undefined, method: "notifications/cancelled", params });
  expect(await response.text()).toBe("");
  await expect.poll(() => app.cancelled).toEqual(["run1"]);
});

it("returns an error with the run id if the hub stops during a call", async () => {
  const app = setup();
  const response = callStateless(app);
  await app.started;
  app.run.reject(new Error("The hub is stopping."));
  expect(await (await response).json()).toMatchObject({
    result: {
      isError: true,
      content: [{ text: "The hub is stopping. (run run1)" }],
    },
  });
});

it("rejects the cursor of another list", async () => {
  const app = setup();
  const session = await openSession(app);
  const list = async (method: string, cursor?: string) => {
    const response = await app.send(session, {
      method,
      params: cursor === undefined ? {} : { cursor },
    });
    return JSON.parse(/^data: (\{.*)$/m.exec(await response.text())?.[1] ?? "null");
  };
  for (const [method, last, next] of [
    ["tools/list", ".249", ".250"],
    ["tasks/list", "-49", "-49-0"],
  ] as const) {
    const { nextCursor } = (await list(method)).result;
    expect((await list(method, "")).result.nextCursor).toBe(nextCursor);
    const { tools, tasks } = (await list(method, nextCursor)).result;
    expect([tools?.[0].name, tasks?.[0].taskId]).toContain(next);
    for (const wrong of [
      "zzz",
      last,
      nextCursor.replace(/^\w+/, "run"),
      "tool:",
      "task:\0",
      "x".repeat(10_000),
    ])
      expect((await list(method, wrong)).error).toEqual({
        code: -32602,
        message: "cursor: is not a cursor of this list",
      });
  }
});

const METHOD_NOT_FOUND = { code: -32601, message: "Method not found" };

it.each(["nope/nope", "ping", "resources/list", "tasks/list"])(
  "returns 404 for the unsupported method %s",
  async (method) => {
    const response = await sendStateless(setup(), method);
    const body = { id: 1, error: METHOD_NOT_FOUND };
    expect([response.status, await response.json()]).toMatchObject([404, body]);
  },
);

it("returns the error of an unknown method with 200 in a session", async () => {
  const app = setup();
  const response = await app.send(await openSession(app), { method: "resources/list" });
  expect([response.status, await response.text()]).toEqual([
    200,
    expect.stringContaining(JSON.stringify(METHOD_NOT_FOUND)),
  ]);
});
