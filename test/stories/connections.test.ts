/** A real hub connects to real MCP servers, over the API and with the CLI. */
import { expect, it, onTestFinished, vi } from "vitest";
import { ADMIN, type Backend, startApi } from "../support/api-client.ts";
import { runCli, startHubProcess } from "../support/hub-process.ts";
import { listen, serveRaw, serveSdk1, serveSdk2 } from "../support/mcp-servers.ts";
import { WAIT } from "../support/timeouts.ts";

const ALLOW_LOOPBACK = { SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1" };
const tools = {
  forecast: ({ city }: Record<string, unknown>) => ({ city, weather: "sun" }),
};
const descriptions = [
  {
    name: "forecast",
    description: "The weather of a city.",
    inputSchema: { type: "object", properties: { city: { type: "string" } } },
  },
];

for (const backend of ["SQLite", "PostgreSQL", "workerd"] satisfies Backend[])
  it(`a hub connects to servers of both SDK versions, lists their tools, and calls them, on ${backend}`, async () => {
    const api = await startApi(backend, ALLOW_LOOPBACK);
    const servers = [await serveSdk2(tools, { definitions: descriptions }), await serveSdk1(tools)];
    for (const [index, { url, requests }] of servers.entries()) {
      const { json } = await api.expect(201, "POST", "/api/connections", {
        name: `Server ${index}`,
        url,
        auth: { type: "bearer", token: "secret-of-the-server" },
        headers: { "X-Team": "weather" },
      });
      expect(json).toMatchObject({
        id: expect.stringMatching(new RegExp(`^server-${index}-[a-z2-9]{6}$`)),
        url,
        status: "ok",
        error: null,
        tool_count: 1,
        trigger_count: 0,
        tools: [{ name: "forecast" }],
        triggers: [],
        credentials: { auth: { type: "bearer" }, headers: ["X-Team"] },
      });
      const path = `/api/connections/${json.id}`;
      const listed = await api.expect(200, "GET", `${path}/tools`);
      expect(listed.json.items).toMatchObject([{ name: "forecast", inputSchema: {} }]);
      const called = await api.expect(200, "POST", `${path}/tools/forecast`, {
        arguments: { city: "Rome" },
      });
      expect(called.json).toMatchObject({
        isError: false,
        structuredContent: { city: "Rome", weather: "sun" },
      });
      const headers = requests.at(-1)?.headers;
      const header = (name: string) =>
        headers instanceof Headers ? headers.get(name) : headers?.[name];
      expect([header("authorization"), header("x-team")]).toEqual([
        "Bearer secret-of-the-server",
        "weather",
      ]);
      const claims = /^[\w-]+\.([\w-]+)\.[\w-]+$/.exec(String(header("x-mesh-token")))?.[1] ?? "";
      expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toMatchObject({
        iss: api.hub.url,
      });
    }
    const { text, json } = await api.expect(200, "GET", "/api/connections");
    expect(json.items).toHaveLength(2);
    expect(text).not.toContain("secret-of-the-server");
    for (const { id } of json.items) await api.expect(204, "DELETE", `/api/connections/${id}`);
    expect((await api.expect(200, "GET", "/api/connections")).json.items).toEqual([]);
  });

it.each<Backend>(["SQLite", "workerd"])(
  "a connection reports a server that is down, is no MCP server, rejects the hub, or has a forbidden address, on %s",
  async (backend) => {
    const api = await startApi(backend, ALLOW_LOOPBACK);
    const closed = await listen(() => {});
    await closed.close();
    const page = await listen((_, response) => response.end("<h1>Hello</h1>"));
    const denied = await listen((_, response) => response.writeHead(401).end());
    const cases: [string, RegExp][] = [
      // workerd does not report why a connection failed.
      [closed.url, backend === "workerd" ? /no complete response/ : /refuses connections/],
      [page.url, /MCP server/],
      [denied.url, /401.*credentials/],
      ["http://127.0.0.2:9/mcp", /SIGNALBOX_ALLOW_PRIVATE/],
    ];
    for (const [url, error] of cases) {
      const { json } = await api.expect(201, "POST", "/api/connections", { name: "Bad", url });
      expect([url, json.status]).toEqual([url, "failed"]);
      expect(json.error).toMatch(error);
    }
  },
);

it.each<Backend>(["SQLite", "workerd"])(
  "a server that hangs causes a timeout, and does not delay other connections, on %s",
  async (backend) => {
    const api = await startApi(backend, ALLOW_LOOPBACK);
    const requestReceived = Promise.withResolvers<void>();
    const hanging = await listen(() => requestReceived.resolve());
    let isAdded = false;
    const adding = api
      .expect(201, "POST", "/api/connections", { name: "Hanging", url: hanging.url })
      .finally(() => {
        isAdded = true;
      });
    await requestReceived.promise;
    const { url } = await serveSdk2(tools);
    const { json } = await api.expect(201, "POST", "/api/connections", { name: "Healthy", url });
    expect(json).toMatchObject({ status: "ok" });
    await api.expect(200, "POST", `/api/connections/${json.id}/tools/forecast`, {});
    expect(isAdded).toBe(false);
    const hung = (await adding).json;
    expect(hung).toMatchObject({
      status: "failed",
      error: expect.stringMatching(/handshake within 10 s/),
    });
  },
);

it.each<Backend>(["SQLite", "workerd"])(
  "a failed connection works again after a check, when its server has recovered, on %s",
  async (backend) => {
    const api = await startApi(backend, ALLOW_LOOPBACK);
    let isDown = true;
    const server = await serveRaw(({ method }, response) => {
      if (isDown) return void response.writeHead(503).end();
      return method === "tools/list"
        ? { tools: [{ name: "ping", inputSchema: { type: "object" } }] }
        : {};
    });
    const { json } = await api.expect(201, "POST", "/api/connections", {
      name: "Flaky",
      url: server.url,
    });
    expect(json).toMatchObject({ status: "failed", error: expect.stringContaining("503") });
    isDown = false;
    // The response may contain the result of a check that began while the server was down.
    await vi.waitFor(async () => {
      const checked = await api.expect(200, "POST", `/api/connections/${json.id}/check`);
      expect(checked.json).toMatchObject({ status: "ok", error: null, tool_count: 1 });
    }, WAIT);
  },
);

it.each<Backend>(["SQLite", "workerd"])(
  "the CLI adds, lists, checks and removes a connection, without a secret in its arguments, on %s",
  async (backend) => {
    const { env } = await startApi(backend, ALLOW_LOOPBACK);
    const server = await serveSdk2(tools, { definitions: descriptions });
    const cli = (args: string[], extra: Record<string, string> = {}) =>
      runCli(["connection", ...args], { env: { ...env, ...extra } });

    const empty = await cli(["list"]);
    expect([empty.code, empty.stdout]).toEqual([0, expect.stringContaining("connection add NAME")]);
    const added = await cli(["add", "weather", server.url, "--header", "X-Key=API_KEY"], {
      SIGNALBOX_CONNECTION_TOKEN: "bearer-of-the-server",
      API_KEY: "key-of-the-server",
    });
    expect([added.code, added.stderr]).toEqual([0, ""]);
    const id = /✓ (weather-[a-z2-9]{6})/.exec(added.stdout)?.[1] ?? "";
    expect(added.stdout).toContain("1 tool, 0 triggers");
    const headers = server.requests.at(-1)?.headers;
    expect([headers?.get("authorization"), headers?.get("x-key")]).toEqual([
      "Bearer bearer-of-the-server",
      "key-of-the-server",
    ]);

    const listed = await cli(["list"]);
    expect(listed.stdout).toMatch(new RegExp(`${id} +weather +ok +1 +0 +${server.url}`));
    expect(JSON.parse((await cli(["list", "--json"])).stdout)).toMatchObject([
      { id, status: "ok" },
    ]);
    const checked = await cli(["check", id]);
    expect([checked.code, checked.stdout]).toEqual([0, `✓ ${id}  1 tool, 0 triggers\n`]);

    await server.close();
    const failed = await cli(["check", "--json"]);
    expect([failed.code, JSON.parse(failed.stdout)]).toMatchObject([1, [{ id, status: "failed" }]]);
    const removed = await cli(["remove", id]);
    expect([removed.code, removed.stdout]).toEqual([0, "✓ removed; its events are kept\n"]);
    const secondRemove = await cli(["remove", id]);
    expect([secondRemove.code, secondRemove.stderr]).toEqual([
      2,
      expect.stringMatching(/unknown ID.*list/),
    ]);
  },
);

it("the CLI reports missing and invalid arguments of `connection`", async () => {
  const api = await startApi("SQLite", ALLOW_LOOPBACK);
  const env = { SIGNALBOX_DATA: api.env.SIGNALBOX_DATA ?? "" };
  const url = "https://weather.example/mcp";
  const cases: [string[], RegExp][] = [
    [[], /Missing action/],
    [["add", "weather"], /connection add NAME URL/],
    [["add", "weather", url, "more"], /Unexpected argument "more"/],
    [["add", "weather", "nonsense"], /url: must be the http\(s\) URL/],
    [["add", "weather", url, "--header", "X-Key"], /--header must be NAME=VARIABLE/],
    [["add", "weather", url, "--header", "X-Key=NONE"], /variable NONE is not set/],
    [["add", "weather", url, "--client-id", "x"], /SIGNALBOX_CONNECTION_CLIENT_SECRET/],
    [["add", "weather", url, "--scope", "x"], /--scope needs --client-id/],
    [["add", "weather", url, "--token-stdin"], /standard input has no token/],
    [["list", "--", "node"], /Only `connection add` takes a command/],
    [["check", "none-aaaaaa"], /unknown ID/],
  ];
  for (const [args, message] of cases) {
    const { code, stderr } = await runCli(["connection", ...args], { env });
    expect([args, code, stderr]).toEqual([args, 2, expect.stringMatching(message)]);
  }
  const refused = await runCli(["connection", "add", "files", "--", "node", "server.js"], { env });
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining("SIGNALBOX_ALLOW_COMMANDS=on"),
  ]);
});

it("the CLI adds a server that the hub runs as a command, with only the named environment variables", async () => {
  const api = await startApi("SQLite", { SIGNALBOX_ALLOW_COMMANDS: "on" });
  const program = `
    const { createInterface } = require("node:readline");
    createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) return;
      const name = \`\${process.env.TEAM}-\${process.env.SIGNALBOX_TOKEN ?? "none"}\`;
      const result = {
        initialize: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "program", version: "1" },
        },
        "tools/list": { tools: [{ name, inputSchema: { type: "object" } }] },
      }[method];
      const error = { code: -32601, message: "Method not found" };
      console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) }));
    });`;
  const env = { SIGNALBOX_DATA: api.env.SIGNALBOX_DATA ?? "", TEAM: "weather" };
  const command = ["--env", "TEAM", "--json", "--", process.execPath, "-e", program];
  const added = await runCli(["connection", "add", "local", ...command], { env });
  expect([added.code, added.stderr]).toEqual([0, ""]);
  // The tool's name shows that the command gets TEAM, but not SIGNALBOX_TOKEN.
  expect(JSON.parse(added.stdout)).toMatchObject({
    status: "ok",
    command: process.execPath,
    args: ["-e", program],
    credentials: { env: ["TEAM"] },
    tools: [{ name: "weather-none" }],
  });
});

it("the CLI stores a connection while no hub runs, and the hub checks it when it starts", async () => {
  const api = await startApi("SQLite", ALLOW_LOOPBACK);
  await api.hub.stop();
  const server = await serveSdk2(tools, { definitions: descriptions });
  const env = { SIGNALBOX_DATA: api.env.SIGNALBOX_DATA ?? "", SIGNALBOX_TOKEN: ADMIN };
  const added = await runCli(["connection", "add", "weather", server.url], { env });
  expect([added.code, added.stdout]).toEqual([0, expect.stringContaining("not checked yet")]);
  const checked = await runCli(["connection", "check"], { env });
  expect([checked.code, checked.stderr]).toEqual([1, expect.stringContaining("signalbox serve")]);
  const hub = await startHubProcess({ data: env.SIGNALBOX_DATA, env: { ...api.env } });
  onTestFinished(async () => void (await hub.stop("SIGKILL")));
  await vi.waitFor(async () => {
    const { stdout } = await runCli(["connection", "list", "--json"], { env });
    expect(JSON.parse(stdout)).toMatchObject([{ name: "weather", status: "ok", tool_count: 1 }]);
  }, WAIT);
});
