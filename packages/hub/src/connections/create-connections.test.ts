/** Calls real MCP servers on the loopback address. */
import { decodeJwt, decodeProtectedHeader } from "jose";
import { describe, expect, it, vi } from "vitest";
import {
  listen,
  serveRaw,
  serveSdk1,
  serveSdk2,
  type Tools,
} from "../../../../test/support/mcp-servers.ts";
import {
  callOptions,
  catchError,
  newConnection,
  openConnections,
} from "../../../../test/support/open-connections.ts";
import { WAIT } from "../../../../test/support/timeouts.ts";
import { createTestTimers } from "../kernel/lib/test-timers.ts";
import { CHECKED_IDLE_MS, IDLE_MS, MAX_CALLS, MAX_QUEUED, OPEN_MS } from "./limits.ts";

const echo: Tools = { echo: (args) => args };
const call = { tool: "echo", arguments: { a: 1 } };

/** A server that responds like the published package of trigger servers. */
const servePublished = (tools: Tools) =>
  serveRaw(async ({ method, params }) => {
    if (method === "tools/list")
      return { tools: Object.keys(tools).map((name) => ({ name, inputSchema: {} })) };
    const args = (params.arguments ?? {}) as Record<string, unknown>;
    const meta = (params._meta ?? {}) as Record<string, unknown>;
    const { signal } = new AbortController();
    const value = await tools[params.name as string]?.(args, {
      meta,
      signal,
      progress: async () => {},
    });
    return { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: value };
  });

describe.each([
  ["version 2 of the SDK", serveSdk2],
  ["version 1 of the SDK, with sessions", serveSdk1],
  ["the published package of triggers", servePublished],
])("a server that uses %s", (_, serve) => {
  it("can be called and lists its tools, with one client and one request per call", async () => {
    const { url, requests } = await serve(echo);
    const connections = openConnections();
    const connection = await newConnection(url);
    expect(await connections.callTool(connection, call, callOptions())).toEqual({
      isError: false,
      content: [{ type: "text", text: '{"a":1}' }],
      structuredContent: { a: 1 },
    });
    expect(await connections.loadOffers(connection, callOptions())).toMatchObject({
      server: { name: expect.any(String), version: expect.any(String) },
      perSubscription: false,
      tools: [{ name: "echo", description: "", inputSchema: expect.any(Object) }],
      triggers: [],
    });
    const before = requests.length;
    await connections.callTool(connection, call, callOptions());
    expect([requests.length - before, connections.openedCount()]).toEqual([1, 1]);
  });

  it("is not called if `beforeSend` throws, and can be called again", async () => {
    const { url } = await serve(echo);
    const connections = openConnections();
    const connection = await newConnection(url);
    const steps: string[] = [];
    const beforeSend = () => {
      steps.push("before send");
      if (steps.length > 2) throw new Error("the lease has expired");
    };
    const options = callOptions({ beforeSend });
    await connections.callTool(connection, call, options);
    expect(steps.length).toBe(2); // when the client is open, and when its request is sent
    expect((await catchError(connections.callTool(connection, call, options))).message).toContain(
      "the lease has expired",
    );
    await connections.callTool(connection, call, callOptions());
    expect(connections.openedCount()).toBe(1);
  });

  it("receives the idempotency key in _meta", async () => {
    const metas: object[] = [];
    const { url } = await serve({
      echo: (args, { meta }) => {
        metas.push(meta);
        return args;
      },
    });
    const connection = await newConnection(url);
    await openConnections().callTool(
      connection,
      call,
      callOptions({ idempotencyKey: "run-1/step" }),
    );
    expect(metas).toMatchObject([{ "signalbox/idempotency-key": "run-1/step" }]);
  });
});

describe.each([
  ["version 2 of the SDK", serveSdk2],
  ["version 1 of the SDK", serveSdk1],
])("a call to a server that uses %s", (_, serve) => {
  it("returns the error of a tool as an answer", async () => {
    const content = [{ type: "text", text: "no such city" }];
    const { url } = await serve({ echo: () => ({ isError: true, content }) });
    const answer = await openConnections().callTool(await newConnection(url), call, callOptions());
    expect(answer).toEqual({ isError: true, content });
  });

  it("reports the progress that the server sends", async () => {
    const { url } = await serve({
      echo: async (args, { progress }) => {
        await progress(1);
        await progress(2);
        return args;
      },
    });
    const received: object[] = [];
    await openConnections().callTool(
      await newConnection(url),
      call,
      callOptions({ onProgress: (progress) => received.push(progress) }),
    );
    expect(received).toEqual([
      { progress: 1, total: 2, message: "step 1" },
      { progress: 2, total: 2, message: "step 2" },
    ]);
  });

  it("is cancelled at the server when its signal is aborted", async () => {
    const started = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<void>();
    const { url } = await serve({
      echo: async (_args, { signal }) => {
        signal.addEventListener("abort", () => cancelled.resolve());
        started.resolve();
        await cancelled.promise;
        return {};
      },
    });
    const controller = new AbortController();
    const calling = openConnections().callTool(
      await newConnection(url),
      call,
      callOptions({ signal: controller.signal }),
    );
    await started.promise;
    controller.abort();
    expect(await catchError(calling)).toMatchObject({
      name: "Error",
      code: "cancelled",
      message: "The call was cancelled.",
    });
    await cancelled.promise;
  });

  it("opens a client that receives list_changed notifications", async () => {
    const connections = openConnections();
    if (serve === serveSdk2) {
      const capabilities = { tools: { listChanged: true } };
      const { url, handler } = await serveSdk2(echo, { capabilities });
      const connection = await newConnection(url);
      await connections.callTool(connection, call, callOptions());
      // The subscription opens in the background.
      await vi.waitFor(() => {
        handler.notify.toolsChanged();
        expect(connections.listChanges).toContain(connection.id);
      }, WAIT);
    } else {
      const { url, sessions, requests } = await serveSdk1(echo, { listChanged: true });
      const connection = await newConnection(url);
      await connections.callTool(connection, call, callOptions());
      await vi.waitFor(() => expect(requests.some(({ method }) => method === "GET")).toBe(true));
      await vi.waitFor(async () => {
        for (const { server } of sessions.values()) await server.sendToolListChanged();
        expect(connections.listChanges).toContain(connection.id);
      }, WAIT);
    }
  });
});

it("opens no stream of notifications if the server sends none", async () => {
  const { url, requests } = await serveSdk1(echo);
  const connection = await newConnection(url);
  await openConnections().callTool(connection, call, callOptions());
  expect(requests.map(({ method }) => method)).not.toContain("GET");
});

describe("every request", () => {
  it("contains a short-lived JWT that names the connection, and the credentials", async () => {
    const { url, requests } = await serveSdk1(echo, { listChanged: true });
    const connection = await newConnection(url, {
      headers: { "X-Api-Key": "k" },
      auth: { type: "bearer", token: "t" },
    });
    await openConnections().callTool(connection, call, callOptions());
    expect(requests.length).toBeGreaterThan(2);
    for (const { headers } of requests) {
      expect(headers).toMatchObject({ authorization: "Bearer t", "x-api-key": "k" });
      expect(headers).not.toHaveProperty("x-signalbox-exchange");
      const token = String(headers["x-mesh-token"]);
      expect(decodeProtectedHeader(token).alg).toBe("HS256");
      const { iat = 0, exp = 0, ...claims } = decodeJwt(token);
      expect(claims).toEqual({ connectionId: connection.id, iss: "https://hub.test" });
      expect(exp - iat).toBe(300);
      expect(Math.abs(Date.now() / 1000 - iat)).toBeLessThan(120);
    }
  });
});

describe("a session", () => {
  it("that the server has lost is opened again, and the call is repeated", async () => {
    const { url, sessions } = await serveSdk1(echo);
    const connections = openConnections();
    const connection = await newConnection(url);
    await connections.callTool(connection, call, callOptions());
    sessions.clear();
    await connections.callTool(connection, call, callOptions());
    expect([sessions.size, connections.openedCount()]).toEqual([1, 2]);
    // The server may have restarted, and lost its subscriptions.
    expect(connections.suspectedRestarts).toEqual([connection.id]);
    sessions.clear();
    await connections.loadOffers(connection, callOptions());
    expect(connections.suspectedRestarts).toHaveLength(1); // a check renews the subscriptions anyway
  });

  it("is suspected to have ended if a call does not reach the server", async () => {
    const server = await listen(() => {});
    await server.close();
    const connections = openConnections();
    const connection = await newConnection(server.url);
    await catchError(connections.loadOffers(connection, callOptions()));
    expect(connections.suspectedRestarts).toEqual([]);
    await catchError(connections.callTool(connection, call, callOptions()));
    expect(connections.suspectedRestarts).toEqual([connection.id]);
  });

  it.each([
    [503, 1],
    [500, 0],
  ])("is suspected to have ended if a call gets HTTP %i: %i times", async (status, count) => {
    const { url } = await serveRaw((_, response) => {
      response.writeHead(status).end();
    });
    const connections = openConnections();
    const connection = await newConnection(url);
    const error = await catchError(connections.callTool(connection, call, callOptions()));
    expect(error.message).toContain(`HTTP ${status}`);
    expect(connections.suspectedRestarts).toHaveLength(count);
  });

  it("ends after it has been idle for `IDLE_MS`, but not while it is used", async () => {
    const { url, sessions } = await serveSdk1(echo);
    const timers = createTestTimers(Date.now());
    const connections = openConnections({ timers });
    const connection = await newConnection(url);
    await connections.callTool(connection, call, callOptions());
    timers.advance(IDLE_MS - 1);
    await connections.callTool(connection, call, callOptions());
    timers.advance(IDLE_MS - 1);
    expect([sessions.size, connections.openedCount()]).toEqual([1, 1]);
    timers.advance(1);
    await vi.waitFor(() => expect(sessions.size).toBe(0), WAIT);
    await connections.callTool(connection, call, callOptions());
    expect(connections.openedCount()).toBe(2);
  });

  it("ends `CHECKED_IDLE_MS` after a check, unless the server sends notifications", async () => {
    const timers = createTestTimers(Date.now());
    const connections = openConnections({ timers });
    const plain = await serveSdk1(echo);
    const notifying = await serveSdk1(echo, { listChanged: true });
    for (const { url } of [plain, notifying])
      await connections.loadOffers(await newConnection(url), callOptions());
    timers.advance(CHECKED_IDLE_MS);
    await vi.waitFor(() => expect(plain.sessions.size).toBe(0), WAIT);
    expect(notifying.sessions.size).toBe(1);
  });

  it("is replaced when the target or the credentials have changed; running calls finish", async () => {
    const finish = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const { url, requests } = await serveSdk2({
      ...echo,
      slow: async () => {
        started.resolve();
        await finish.promise;
        return { done: true };
      },
    });
    const connections = openConnections();
    const connection = await newConnection(url, { headers: { "x-version": "1" } });
    const slow = connections.callTool(connection, { tool: "slow", arguments: {} }, callOptions());
    await started.promise;
    const changed = await newConnection(url, { headers: { "x-version": "2" } });
    await connections.callTool({ ...changed, id: connection.id, revision: 2 }, call, callOptions());
    expect(requests.at(-1)?.headers.get("x-version")).toBe("2");
    finish.resolve();
    expect(await slow).toMatchObject({ structuredContent: { done: true } });
  });
});

describe("the limits", () => {
  it("allow eight concurrent calls of a connection, and reject calls if the queue is full", async () => {
    let running = 0;
    let maxRunning = 0;
    const gate = Promise.withResolvers<void>();
    const { url } = await serveSdk2({
      echo: async (args) => {
        running += 1;
        maxRunning = Math.max(maxRunning, running);
        await gate.promise;
        running -= 1;
        return args;
      },
    });
    const connections = openConnections();
    const connection = await newConnection(url);
    const calls = Array.from({ length: MAX_CALLS + MAX_QUEUED }, () =>
      connections.callTool(connection, call, callOptions()),
    );
    const rejected = await catchError(connections.callTool(connection, call, callOptions()));
    expect(rejected).toMatchObject({ code: "busy", message: expect.stringContaining("its limit") });
    await vi.waitFor(() => expect(running).toBe(MAX_CALLS), WAIT);
    // Checks do not wait for calls.
    expect((await connections.loadOffers(connection, callOptions())).tools).toHaveLength(1);
    gate.resolve();
    await Promise.all(calls);
    expect(maxRunning).toBe(MAX_CALLS);
  });

  it("end a call that a server does not answer, and its HTTP request", async () => {
    const closed = Promise.withResolvers<void>();
    const { url } = await serveRaw(({ http }) => {
      http.socket.once("close", () => closed.resolve());
    });
    const connections = openConnections();
    const connection = await newConnection(url);
    await connections.loadOffers(connection, callOptions({ timeoutMs: 300 })).catch(() => {});
    expect(
      await catchError(connections.callTool(connection, call, callOptions({ timeoutMs: 300 }))),
    ).toMatchObject({ code: "timeout", message: "The server did not answer within 0.3 s." });
    await closed.promise;
  });

  it("end a handshake that a server does not answer", async () => {
    const { url } = await listen(() => {});
    const timers = createTestTimers();
    const connections = openConnections({ timers });
    const calling = catchError(
      connections.callTool(await newConnection(url), call, callOptions({ timeoutMs: OPEN_MS * 2 })),
    );
    await vi.waitFor(() => expect(connections.openedCount()).toBe(1), WAIT);
    timers.advance(OPEN_MS);
    expect(await calling).toMatchObject({
      code: "timeout",
      message: "The server did not complete the handshake within 10 s.",
    });
  });

  it.each(["text/event-stream", "application/json"])(
    "end a handshake whose answer as %s never ends",
    async (type) => {
      const { url } = await listen((_, response) => {
        response.writeHead(200, { "content-type": type });
        const writeMore = () => {
          while (!response.destroyed) if (!response.write(" ".repeat(65_536))) break;
          response.once("drain", writeMore);
        };
        writeMore();
      });
      const connections = openConnections({ timers: createTestTimers() });
      expect(
        await catchError(connections.loadOffers(await newConnection(url), callOptions())),
      ).toMatchObject({
        code: "too_large",
        message: "The server's answer exceeds the limit of 1 MiB.",
      });
    },
  );

  it("end an answer above 8 MiB while it streams", async () => {
    let sent = 0;
    const { url } = await serveRaw((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('data: {"jsonrpc":"2.0","id":');
      const chunk = " ".repeat(1024 * 1024);
      const writeMore = () => {
        while (sent < 64 && !response.destroyed) {
          sent += 1;
          if (!response.write(chunk)) return void response.once("drain", writeMore);
        }
      };
      writeMore();
    });
    const error = await catchError(
      openConnections().callTool(await newConnection(url), call, callOptions()),
    );
    expect(error).toMatchObject({ code: "too_large", message: expect.stringContaining("8 MiB") });
    expect(sent).toBeLessThan(40);
  });
});

describe("after a failure to connect", () => {
  it("calls fail with the last error until the next attempt; a check tries immediately", async () => {
    let isDown = true;
    const { url } = await serveSdk2(echo);
    const target = new URL(url);
    const proxied = await listen(async (request, response) => {
      if (isDown) return void response.writeHead(503).end("be right back");
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const answer = await fetch(target, {
        method: request.method ?? "",
        headers: request.headers as Record<string, string>,
        ...(chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}),
      });
      response
        .writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" })
        .end(await answer.text());
    });
    const timers = createTestTimers();
    const connections = openConnections({ timers });
    const connection = await newConnection(proxied.url);
    const calling = () => connections.callTool(connection, call, callOptions());
    const first = await catchError(calling());
    expect(first).toMatchObject({
      code: "rejected",
      message: "The server answered HTTP 503: be right back.",
    });
    expect(await catchError(calling())).toEqual(first);
    expect(connections.openedCount()).toBe(1);
    timers.stepClock(-3_600_000);
    timers.advance(250);
    expect(await catchError(calling())).not.toBe(first);
    expect(connections.openedCount()).toBe(2);
    isDown = false;
    await connections.loadOffers(connection, callOptions());
    await calling();
    expect(connections.openedCount()).toBe(3);
  });

  it("the error describes the problem with the address", async () => {
    const { url, close } = await listen(() => {});
    await close();
    const connections = openConnections();
    expect(
      await catchError(connections.callTool(await newConnection(url), call, callOptions())),
    ).toMatchObject({
      code: "unreachable",
      message: expect.stringContaining("refuses connections"),
    });
    const strict = openConnections({ allowPrivate: false });
    expect(
      await catchError(strict.callTool(await newConnection(url), call, callOptions())),
    ).toMatchObject({
      code: "address_refused",
      message: expect.stringContaining("SIGNALBOX_ALLOW_PRIVATE"),
    });
  });
});

it.each([
  [undefined, "SIGNALBOX_ALLOW_COMMANDS=on"],
  ["impossible" as const, "This hub runs on Cloudflare Workers, where commands cannot run"],
])("does not run commands if the host's support is %s", async (openCommand, message) => {
  const connection = await newConnection({ command: "node", args: ["server.js"] });
  expect(
    await catchError(openConnections({ openCommand }).callTool(connection, call, callOptions())),
  ).toMatchObject({ code: "not_allowed", message: expect.stringContaining(message) });
});

it("rejects running calls when it closes, and all calls after that", async () => {
  const started = Promise.withResolvers<void>();
  const { url } = await serveSdk2({
    echo: () => {
      started.resolve();
      return new Promise(() => {});
    },
  });
  const connections = openConnections();
  const connection = await newConnection(url);
  const running = catchError(connections.callTool(connection, call, callOptions()));
  await started.promise;
  await connections.close();
  expect((await running).code).toMatch(/cancelled|unreachable/);
  expect(await catchError(connections.callTool(connection, call, callOptions()))).toMatchObject({
    code: "cancelled",
    message: "The hub is stopping.",
  });
});
