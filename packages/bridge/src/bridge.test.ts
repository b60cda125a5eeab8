import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { createManualTimers } from "../../../test/support/manual-timers.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { serveBridge } from "./bridge.ts";
import { readSettings } from "./bridge-settings.ts";
import type { Timers } from "./settled-client.ts";
import { LIST_METHODS } from "./settles-at.ts";
import type { BridgeState } from "./state-file.ts";

const connected = 'id: 0\ndata: {"status":"connected","cursor":"0"}\n\n';
const frame = (seq: number, summary: object = {}) =>
  `id: ${seq}\ndata: ${JSON.stringify({ event_id: `e${seq}`, type: "push", summary })}\n\n`;

/** A hub that sends some events and keeps the stream open. Its lists are empty; its tools return `results`. */
const fakeHub =
  (frames: string, results: object[] = []): typeof fetch =>
  async (url, init) => {
    if (String(url).endsWith("/mcp")) {
      const { id, method } = init?.method === "POST" ? JSON.parse(String(init.body)) : {};
      if (id === undefined) return new Response(null, { status: method ? 202 : 405 });
      const result =
        method === "initialize"
          ? {
              protocolVersion: "2025-11-25",
              capabilities: { tools: {}, prompts: {}, resources: {} },
              serverInfo: { name: "hub", version: "1" },
            }
          : /\/list$/.test(method)
            ? { [method.split("/")[0]]: [] }
            : results.shift();
      return Response.json({ jsonrpc: "2.0", id, result });
    }
    const cancelled = new AbortController();
    return new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(frames));
          const close = () => controller.close();
          init?.signal?.addEventListener("abort", close, { signal: cancelled.signal });
        },
        cancel: () => cancelled.abort(),
      }),
      { headers: { "content-type": "text/event-stream" } },
    );
  };

const refuse: typeof fetch = async () => {
  throw new TypeError("fetch failed", {
    cause: Object.assign(new Error("connect ECONNREFUSED"), { syscall: "connect" }),
  });
};

/** Every timer is due. */
const noDelay: Timers = {
  now: () => 0,
  set(run) {
    const timer = setImmediate(run);
    return () => clearImmediate(timer);
  },
};

const toolError = (text: string) => ({ isError: true, content: [{ type: "text", text }] });

/** The first request of Claude Code. */
const probe = {
  _meta: {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "claude-code", version: "2" },
    "io.modelcontextprotocol/clientCapabilities": {},
  },
};

/** A bridge with an initialized client. */
async function startBridge(options: {
  hub: typeof fetch;
  folder?: string;
  env?: Record<string, string>;
  flush?: () => Promise<void>;
  timers?: Timers;
}) {
  const { folder = tempFolder(), env = {}, flush = async () => {}, timers = noDelay } = options;
  const sent: JSONRPCMessage[] = [];
  const warnings: string[] = [];
  const transport: Transport = {
    start: async () => {},
    send: async (message) => void sent.push(message),
    close: async () => transport.onclose?.(),
  };
  const serving = serveBridge({
    settings: readSettings({
      WEBHOOK_WORKER_URL: "http://hub.example",
      SIGNALBOX_BRIDGE_STATE: folder,
      ...env,
    }),
    transport,
    warn: (message) => warnings.push(message),
    flush,
    fetch: options.hub,
    timers,
  });
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  };
  const request = async (id: number, method: string, params = {}) => {
    transport.onmessage?.({ jsonrpc: "2.0", id, method, params });
    const response = () => sent.find((message) => "id" in message && message.id === id);
    await expect.poll(response).toBeDefined();
    return response();
  };
  await expect.poll(() => transport.onmessage).toBeDefined();
  const discovered = await request(0, "server/discover", probe);
  const initialized = await request(1, "initialize", params);
  transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/initialized" });
  const state = () => {
    const [name] = readdirSync(folder);
    return name && (JSON.parse(readFileSync(join(folder, name), "utf8")) as BridgeState);
  };
  const contents = () =>
    sent.flatMap((message) =>
      "method" in message && message.method === "notifications/claude/channel"
        ? [String(message.params?.content)]
        : [],
    );
  const end = async () => {
    await transport.close();
    await serving;
  };
  const methods = () => sent.flatMap((message) => ("method" in message ? [message.method] : []));
  return {
    discovered,
    initialized,
    methods,
    request,
    warnings,
    transport,
    serving,
    state,
    contents,
    end,
    folder,
  };
}

it("announces after the client's lists have been returned, and loses no earlier event", async () => {
  const { timers, advance } = createManualTimers();
  const bridge = await startBridge({ hub: fakeHub(connected + frame(1) + frame(2)), timers });
  await expect.poll(bridge.state).toMatchObject({ cursor: "0" });
  for (const [at, method] of LIST_METHODS.entries()) {
    await advance(4_000);
    expect(await bridge.request(at + 2, method)).toHaveProperty("result");
  }
  await advance(999);
  expect([bridge.contents(), bridge.state()]).toMatchObject([[], { cursor: "0" }]);
  await advance(1);
  await expect.poll(bridge.state).toMatchObject({ cursor: "2" });
  expect(bridge.contents()).toHaveLength(2);
  await bridge.end();
});

it("announces to a client that requests no list after five seconds", async () => {
  const { timers, advance } = createManualTimers();
  const bridge = await startBridge({ hub: fakeHub(connected + frame(1)), timers });
  await expect.poll(bridge.state).toMatchObject({ cursor: "0" });
  await advance(4_999);
  expect(bridge.contents()).toEqual([]);
  await advance(1);
  await expect.poll(bridge.state).toMatchObject({ cursor: "1" });
  expect(bridge.contents()).toHaveLength(1);
  await bridge.end();
});

it("leaves an event to the next client if the first one disconnects before it is settled", async () => {
  const hub = fakeHub(connected + frame(1));
  const first = await startBridge({ hub, timers: createManualTimers().timers });
  await expect.poll(first.state).toMatchObject({ cursor: "0" });
  await first.end();
  expect([first.contents(), first.state(), first.warnings]).toMatchObject([
    [],
    { cursor: "0" },
    [],
  ]);
  const next = await startBridge({ hub, folder: first.folder });
  await expect.poll(next.state).toMatchObject({ cursor: "1" });
  expect(next.contents()).toHaveLength(1);
  await next.end();
});

// On a connection of the 2026-07-28 era, Claude Code does not support channels.
it("answers server/discover with -32601, so that the client continues with initialize", async () => {
  const bridge = await startBridge({ hub: fakeHub(connected) });
  expect(bridge.discovered).toMatchObject({ error: { code: -32601 } });
  expect(bridge.initialized).toMatchObject({
    result: {
      protocolVersion: "2025-11-25",
      capabilities: {
        experimental: { "claude/channel": {} },
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true },
      },
    },
  });
  await bridge.end();
});

it("waits for the last announcement and its state when the client disconnects", async () => {
  const { promise: flushed, resolve: flush } = Promise.withResolvers<void>();
  const bridge = await startBridge({ hub: fakeHub(connected + frame(1)), flush: () => flushed });
  let hasEnded = false;
  const ended = bridge.serving.then(() => {
    hasEnded = true;
  });
  await expect.poll(() => bridge.contents().length).toBe(1);
  await bridge.transport.close();
  await new Promise((resolve) => setImmediate(resolve));
  expect([hasEnded, bridge.state()]).toMatchObject([false, { cursor: "0" }]);
  flush();
  await ended;
  expect(bridge.state()).toMatchObject({ cursor: "1" });
});

it("retries a failed lookup, then sends a reminder that names the repository", async () => {
  const busy = toolError("The hub failed to handle the request.");
  const pending = { content: [], structuredContent: { id: "e1", type: "push", processed: false } };
  const bridge = await startBridge({
    hub: fakeHub(connected + frame(1, { repo: "octo/town" }), [busy, pending]),
    env: { SIGNALBOX_BRIDGE_REMIND_MINUTES: "0.0001" },
  });
  await expect.poll(() => bridge.contents().length).toBe(2);
  expect(bridge.contents()[1]).toMatch(/^1 event was announced .*: 1 push in octo\/town\./);
  await expect.poll(bridge.state).toMatchObject({ announced: [] });
  await bridge.end();
});

it("does not remind of processed or deleted events", async () => {
  const processed = { content: [], structuredContent: { id: "e1", type: "push", processed: true } };
  const results = [processed, toolError("event_id: there is no event e2")];
  const bridge = await startBridge({
    hub: fakeHub(connected + frame(1) + frame(2), results),
    env: { SIGNALBOX_BRIDGE_REMIND_MINUTES: "0.0001" },
  });
  await expect.poll(() => results.length).toBe(0);
  await expect.poll(bridge.state).toMatchObject({ cursor: "2", announced: [] });
  expect(bridge.contents()).toHaveLength(2);
  await bridge.end();
});

/** A hub with several tenants, each with a token and a growing log. */
function fakeHubOfTenants(
  tokens: Record<string, string>,
  logs: Record<string, number>,
  database = () => "db",
): typeof fetch {
  return async (url, init) => {
    const headers = new Headers(init?.headers);
    const tenant = tokens[headers.get("authorization")?.slice("Bearer ".length) ?? ""] ?? "";
    const last = logs[tenant] ?? 0;
    const after = Math.min(Number(headers.get("last-event-id") ?? last), last);
    const first = JSON.stringify({ status: "connected", log: `hash of ${tenant}@${database()}` });
    const events = Array.from({ length: last - after }, (_, at) => frame(after + at + 1));
    return fakeHub(`id: ${after}\ndata: ${first}\n\n${events.join("")}`)(url, init);
  };
}

it("separates the cursors of two tenants, in parallel and after a token rotation", async () => {
  const logs = { acme: 2, umbrella: 7 };
  const hub = fakeHubOfTenants({ old: "acme", rotated: "acme", other: "umbrella" }, logs);
  const folder = tempFolder();
  const start = (token: string) => startBridge({ hub, folder, env: { SIGNALBOX_TOKEN: token } });
  const cursors = () =>
    readdirSync(folder)
      .map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")).cursor)
      .toSorted();
  const [acme, umbrella] = [await start("old"), await start("other")];
  await expect.poll(cursors).toEqual(["2", "7"]);
  await Promise.all([acme.end(), umbrella.end()]);
  Object.assign(logs, { acme: 9, umbrella: 8 });
  const [later, others] = [await start("rotated"), await start("other")];
  await expect.poll(cursors).toEqual(["8", "9"]);
  const counts = [acme, umbrella, later, others].map(({ contents }) => contents().length);
  expect(counts).toEqual([0, 0, 7, 1]);
  await Promise.all([later.end(), others.end()]);
});

it("reads a replaced log from its start, and announces the gap once", async () => {
  const logs = { acme: 6 };
  let database = "before";
  const hub = fakeHubOfTenants({ token: "acme" }, logs, () => database);
  const folder = tempFolder();
  const run = async (cursor: string) => {
    const bridge = await startBridge({ hub, folder, env: { SIGNALBOX_TOKEN: "token" } });
    await expect
      .poll(bridge.state)
      .toMatchObject({ cursor, log: expect.stringContaining(database) });
    await bridge.end();
    return bridge.contents();
  };
  expect(await run("6")).toEqual([]);
  database = "after";
  logs.acme = 9;
  const [gap, ...events] = await run("9");
  expect(gap).toMatch(/^Events may be missing from this channel/);
  expect(events).toHaveLength(9);
  logs.acme = 10;
  expect(await run("10")).toHaveLength(1);
});

it.each([{}, { WEBHOOK_CHANNEL: "0" }])(
  "notifies a settled client when the lists that failed are available again (%j)",
  async (env) => {
    const { timers, advance } = createManualTimers();
    let hub = refuse;
    let probes = 0;
    const bridge = await startBridge({
      hub: async (url, init) => {
        if (String(init?.body).includes("/list")) probes += 1;
        return hub(url, init);
      },
      env,
      timers,
    });
    for (const [at, method] of LIST_METHODS.entries())
      expect(await bridge.request(at + 2, method)).toHaveProperty("error");
    expect(await bridge.request(9, "tools/list")).toHaveProperty("error");
    hub = fakeHub(connected);
    // The hub returns the lists, but the client would drop a notification.
    await expect.poll(() => probes).toBe(LIST_METHODS.length);
    expect(bridge.methods()).toEqual([]);
    await advance(5_000);
    await expect
      .poll(() => bridge.methods().toSorted())
      .toEqual([
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/tools/list_changed",
      ]);
    await bridge.end();
  },
);

it("notifies a client that has cancelled a list because the hub did not respond", async () => {
  const hub = fakeHub(connected);
  let hanging = 0;
  const bridge = await startBridge({
    hub: (url, init) => {
      if (hanging > 0 || !String(init?.body).includes("prompts/list")) return hub(url, init);
      hanging += 1;
      return new Promise((_, reject) => {
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
      });
    },
  });
  bridge.transport.onmessage?.({ jsonrpc: "2.0", id: 2, method: "prompts/list" });
  await expect.poll(() => hanging).toBe(1);
  const params = { requestId: 2, reason: "timeout" };
  bridge.transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params });
  await expect.poll(bridge.methods).toEqual(["notifications/prompts/list_changed"]);
  await bridge.end();
});

it("does not announce events that were processed while it was stopped", async () => {
  const first = await startBridge({ hub: fakeHub(connected) });
  await expect.poll(first.state).toMatchObject({ cursor: "0" });
  await first.end();
  const frames = connected + frame(1, { processed: true }) + frame(2, { processed: false });
  const next = await startBridge({ hub: fakeHub(frames), folder: first.folder });
  await expect.poll(next.state).toMatchObject({ cursor: "2", announced: [{ id: "e2" }] });
  expect(next.contents()).toHaveLength(1);
  await next.end();
});
