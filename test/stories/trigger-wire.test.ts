/**
 * The protocol between the hub and trigger servers of a published package, as observed on a real server.
 * The tests check that the stand-in server, which other stories use, behaves like the real one, and that
 * the hub works with it.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { MAX_WAIT_MS } from "../support/timeouts.ts";
import { openTriggerServer } from "../support/trigger-server.ts";
import { startTriggerStory } from "../support/trigger-story.ts";

const jwt = (claims: object) =>
  `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.c2ln`;
const MESH_HEADERS = { "x-mesh-token": jwt({ connectionId: "weather-1" }) };
const CONFIGURATION = { type: "issue.opened", params: {}, enabled: true };

interface ToolResult {
  isError?: boolean;
  content: { text: string }[];
  structuredContent?: Record<string, unknown>;
}

/** Starts a stand-in server and a receiver of its callbacks. Returns functions that call both. */
async function startStandIn() {
  const server = await openTriggerServer();
  onTestFinished(server.close);
  const received: { headers: Record<string, unknown>; body: unknown }[] = [];
  let status = 202;
  let redirectTo: string | undefined;
  const heldResponses: (() => void)[] = [];
  let isHolding = false;
  const receiver = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    received.push({ headers: request.headers, body: JSON.parse(text) });
    if (isHolding) await new Promise<void>((resolve) => heldResponses.push(resolve));
    const location = request.url === redirectTo ? undefined : redirectTo;
    if (location) response.writeHead(307, { location }).end();
    else response.writeHead(status).end("{}");
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    receiver.closeAllConnections();
    receiver.close();
  });
  const callbackUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/cb`;
  const post = (method: string, params: object, headers: Record<string, string> = MESH_HEADERS) =>
    fetch(server.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
  const configure = async (overrides: object, headers?: Record<string, string>) => {
    const response = await post(
      "tools/call",
      { name: "TRIGGER_CONFIGURE", arguments: { ...CONFIGURATION, ...overrides } },
      headers,
    );
    const data = /^data: (.*)$/m.exec(await response.text())?.[1] ?? "null";
    return JSON.parse(data).result as ToolResult;
  };
  const notify = async (type: string, data: object = { n: 1 }) => {
    const body = JSON.stringify({ type, data });
    const response = await fetch(`${server.controlUrl}/notify`, { method: "POST", body });
    return (await response.json()) as { status: number }[];
  };
  const respondWith = (newStatus: number) => {
    status = newStatus;
  };
  const redirect = (path: string) => {
    redirectTo = path;
  };
  /** Holds responses until the returned function is called. */
  const hold = () => {
    isHolding = true;
    return () => {
      isHolding = false;
      for (const resume of heldResponses) resume();
    };
  };
  return {
    server,
    received,
    callbackUrl,
    post,
    configure,
    notify,
    respondWith,
    redirect,
    hold,
  };
}

describe("the stand-in server", () => {
  it("reads the connection id from the JWT in x-mesh-token, without verifying it", async () => {
    const { configure, callbackUrl, notify } = await startStandIn();
    const credentials = { callbackUrl, callbackToken: "t" };
    const inMetadata = { "x-mesh-token": jwt({ metadata: { connectionId: "weather-2" } }) };
    expect((await configure(credentials)).structuredContent).toEqual({ success: true });
    expect((await configure(credentials, inMetadata)).structuredContent).toEqual({ success: true });
    expect(await notify("issue.opened")).toHaveLength(2);
  });

  it("returns `Connection ID not available` without x-mesh-token, even with Authorization", async () => {
    const { configure } = await startStandIn();
    const result = await configure({}, { authorization: "Bearer some-token" });
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: "Connection ID not available" }],
    });
  });

  it("rejects a request whose x-mesh-token is not a JWT", async () => {
    const { post } = await startStandIn();
    expect((await post("tools/list", {}, { "x-mesh-token": "opaque" })).ok).toBe(false);
  });

  it("responds to POST with SSE, without a session and `initialize`, and to GET with 405", async () => {
    const { server, post } = await startStandIn();
    const response = await post("tools/list", {});
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(response.headers.get("mcp-session-id")).toBeNull();
    expect(await response.text()).toMatch(/^event: message\ndata: \{.*TRIGGER_CONFIGURE.*\}\n\n$/);
    expect((await fetch(server.url)).status).toBe(405);
  });

  it("requires params, and rejects numbers and { op, value } in them", async () => {
    const { configure } = await startStandIn();
    for (const params of [undefined, { n: 1 }, { repo: { op: "eq", value: "hub" } }])
      expect((await configure({ params })).isError).toBe(true);
    expect((await configure({ params: { repo: "hub" } })).isError).toBeUndefined();
  });

  it("accepts unknown types, and rejects an invalid URL and an empty token", async () => {
    const { configure, callbackUrl } = await startStandIn();
    expect((await configure({ type: "unknown" })).structuredContent).toEqual({ success: true });
    expect((await configure({ callbackUrl: "no url", callbackToken: "t" })).isError).toBe(true);
    expect((await configure({ callbackUrl, callbackToken: "" })).isError).toBe(true);
  });

  it("keeps the former credentials if a type is enabled without URL and token", async () => {
    const { configure, callbackUrl, notify, received } = await startStandIn();
    await configure({ callbackUrl, callbackToken: "former" });
    await configure({ type: "issue.closed" });
    await notify("issue.closed");
    expect(received[0]?.headers.authorization).toBe("Bearer former");
  });

  it("has one credential per connection, which a new credential replaces", async () => {
    const { configure, callbackUrl, notify, received } = await startStandIn();
    await configure({ callbackUrl, callbackToken: "first" });
    await configure({ type: "issue.closed", callbackUrl, callbackToken: "last" });
    await notify("issue.opened");
    expect(received.map(({ headers }) => headers.authorization)).toEqual(["Bearer last"]);
  });

  it("filters events neither by type nor by params, and sends none after the last type is disabled", async () => {
    const { configure, callbackUrl, notify, received } = await startStandIn();
    await configure({ params: { repo: "hub" }, callbackUrl, callbackToken: "t" });
    await configure({ type: "issue.closed" });
    await configure({ type: "issue.closed", enabled: false });
    expect(await notify("never.subscribed")).toHaveLength(1);
    expect(await notify("issue.closed")).toHaveLength(1);
    await configure({ enabled: false });
    expect(await notify("issue.opened")).toEqual([]);
    expect(received).toHaveLength(2);
  });

  it.each([401, 410, 429, 500])(
    "sends { type, data } as JSON, and does not retry after %i",
    async (status) => {
      const { configure, callbackUrl, notify, received, respondWith } = await startStandIn();
      await configure({ callbackUrl, callbackToken: "t" });
      respondWith(status);
      expect(await notify("issue.opened")).toMatchObject([{ status }]);
      expect(received).toMatchObject([
        {
          headers: { "content-type": "application/json", authorization: "Bearer t" },
          body: { type: "issue.opened", data: { n: 1 } },
        },
      ]);
      expect(Object.keys(received[0]?.body as object)).toEqual(["type", "data"]);
    },
  );
});

describe("callbacks of the stand-in server", () => {
  it("follow redirects", async () => {
    const { configure, callbackUrl, notify, received, redirect } = await startStandIn();
    await configure({ callbackUrl, callbackToken: "t" });
    redirect("/elsewhere");
    expect(await notify("issue.opened")).toMatchObject([{ status: 202 }]);
    expect(received.map(({ body }) => body)).toEqual([
      { type: "issue.opened", data: { n: 1 } },
      { type: "issue.opened", data: { n: 1 } },
    ]);
  });

  it("are sent concurrently, so they can arrive in another order", async () => {
    const { configure, callbackUrl, notify, received, hold } = await startStandIn();
    await configure({ callbackUrl, callbackToken: "t" });
    const resume = hold();
    const first = notify("issue.opened", { n: 1 });
    await expect.poll(() => received.length, { timeout: MAX_WAIT_MS }).toBe(1);
    const second = notify("issue.opened", { n: 2 });
    // The second callback arrives although the first has no response yet.
    await expect.poll(() => received.length, { timeout: MAX_WAIT_MS }).toBe(2);
    resume();
    await Promise.all([first, second]);
  });

  it("have no size limit", async () => {
    const { configure, callbackUrl, notify, received } = await startStandIn();
    await configure({ callbackUrl, callbackToken: "t" });
    await notify("issue.opened", { text: "x".repeat(2 * 1024 * 1024) });
    expect(JSON.stringify(received[0]?.body).length).toBeGreaterThan(2 * 1024 * 1024);
  });
});

describe.each(["SQLite", "workerd"] as const)("the hub, on %s", (backend) => {
  it("rejects an event above 1 MiB with 413, and accepts other events", async () => {
    const story = await startTriggerStory({ backend });
    await story.publish([{ id: "a", type: "issue.opened" }]);
    await story.waitForStates({ a: "active" });
    const large = { n: 1, text: "x".repeat(1024 * 1024) };
    expect(await story.server.notify("issue.opened", large)).toMatchObject([{ status: 413 }]);
    expect(await story.server.notify("issue.opened", { n: 2 })).toMatchObject([{ status: 202 }]);
    await story.expectFiredBy(2, ["a"]);
    await story.expectFiredBy(1, []);
  });

  it("accepts params whose schema has lost its enum and description because of `.optional()`", async () => {
    const story = await startTriggerStory({ backend });
    const path = `/api/connections/${story.connection}/triggers`;
    const { items } = await story.call<{ items: { inputSchema: object }[] }>("GET", path);
    expect(items[0]?.inputSchema).toMatchObject({ properties: { label: { type: "string" } } });
    await story.publish([{ id: "a", type: "issue.opened", params: { label: "bug" } }]);
    await story.waitForStates({ a: "active" });
    await story.server.notify("issue.opened", { label: "bug", n: 1 });
    await story.expectFiredBy(1, ["a"]);
  });

  it("names the connection in x-mesh-token, and sends params as strings, without conditions", async () => {
    const story = await startTriggerStory({ backend });
    await story.publish([
      {
        id: "a",
        type: "issue.opened",
        params: { repo: 7, title: { op: "contains", value: "x" }, label: "" },
      },
    ]);
    await story.waitForStates({ a: "active" });
    const { calls } = await story.server.state();
    expect(calls.map(({ connection }) => connection)).toEqual([story.connection]);
    expect(calls[0]?.arguments).toEqual({
      type: "issue.opened",
      params: { repo: "7" },
      enabled: true,
      callbackUrl: `${story.hub().url}/api/trigger-callback`,
      callbackToken: expect.stringMatching(/^sbcb_[\w-]{43}$/),
    });
  });

  it("configures a type that the server does not list", async () => {
    const story = await startTriggerStory({ backend });
    await story.publish([{ id: "a", type: "unlisted", params: { any: "thing" } }]);
    await story.waitForStates({ a: "active" });
    expect((await story.server.state()).calls[0]?.arguments.params).toEqual({ any: "thing" });
    await story.server.notify("unlisted", { any: "thing", n: 1 });
    await story.expectFiredBy(1, ["a"]);
  });

  it("sends only the params on which all triggers of a type agree, because the server keeps one set", async () => {
    const story = await startTriggerStory({ backend });
    const trigger = { type: "issue.opened", params: { repo: "hub" } };
    await story.publish([{ id: "a", ...trigger }]);
    await story.waitForStates({ a: "active" });
    await story.publish([
      { id: "a", ...trigger },
      { id: "b", ...trigger, params: { repo: "web" } },
    ]);
    await story.waitForStates({ a: "active", b: "active" });
    const { calls } = await story.server.state();
    expect(calls.map((call) => call.arguments.params)).toEqual([{ repo: "hub" }, {}]);
  });

  it("stores an event of a type without a trigger, and starts no run for it", async () => {
    const story = await startTriggerStory({ backend });
    await story.publish([{ id: "a", type: "issue.opened" }]);
    await story.waitForStates({ a: "active" });
    expect(await story.server.notify("never.subscribed", { n: 1 })).toMatchObject([
      { status: 202, body: { outcome: "stored" } },
    ]);
    await story.server.notify("issue.opened", { n: 2 });
    await story.expectFiredBy(2, ["a"]);
    await story.expectFiredBy(1, []);
    const { items } = await story.call<{ items: { source: string; type: string }[] }>(
      "GET",
      "/api/events",
    );
    expect(items.map(({ type }) => type)).toEqual(["issue.opened", "never.subscribed"]);
    expect(new Set(items.map(({ source }) => source))).toEqual(new Set([story.connection]));
  });

  it("disables a type only when its last trigger is removed, without sending a token", async () => {
    const story = await startTriggerStory({ backend });
    const [a, b] = [
      { id: "a", type: "issue.opened" },
      { id: "b", type: "issue.opened" },
    ];
    await story.publish([a, b]);
    await story.waitForStates({ a: "active", b: "active" });
    await story.publish([b]);
    await story.waitForStates({ b: "active" });
    const readDisableCalls = async () =>
      (await story.server.state()).calls
        .map((call) => call.arguments)
        .filter(({ enabled }) => !enabled);
    expect(await readDisableCalls()).toEqual([]);
    await story.deleteFlow();
    await expect
      .poll(readDisableCalls, { timeout: MAX_WAIT_MS })
      .toEqual([{ type: "issue.opened", params: {}, enabled: false }]);
  });
});
