/** An app is an MCP server. Each `UserIntent` trigger of its flows is a tool. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { clients, connectNewestVersion } from "../support/app-clients.ts";
import { SECRET } from "../support/deliver.ts";
import { createFlowMaker, intent, returns, waits } from "../support/flow-maker.ts";
import { commandSettings, type Host, hosts, startOn } from "../support/hosts.ts";
import { createTokenByCli, type HubProcess, runCli } from "../support/hub-process.ts";
import { callAsTask, post, rpc } from "../support/task-client.ts";
import { tempFolder } from "../support/temp-folder.ts";

const INSPECTOR = fileURLToPath(
  import.meta.resolve("@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
);
const TOKEN = "sbx_app_server_story_token";
const DISCONNECT_UNDETECTED = "workerd does not detect a disconnect before the response has begun";
const SLOW = "takes long, and does not depend on the host";

let hub: HubProcess;
let sharedMaker: ReturnType<typeof createFlowMaker>;
let settings: Record<string, string>;

/** Starts one hub for all tests of a host. */
function useHub(host: Host): void {
  const data = mkdtempSync(join(tmpdir(), "signalbox-apps-"));
  beforeAll(async () => {
    const env = { SIGNALBOX_TOKEN: TOKEN, GITHUB_WEBHOOK_SECRET: SECRET };
    hub = await startOn(host, { data, env });
    sharedMaker = createFlowMaker(hub.url, TOKEN);
    settings = commandSettings(host, hub, { data, token: TOKEN });
  });
  afterAll(async () => {
    await hub.stop();
    rmSync(data, { recursive: true, force: true });
  });
}

let appCount = 0;
/** Creates an app, and returns its slug and its URL. */
async function createApp(fields: object = {}): Promise<{ app: string; url: string }> {
  const app = `app-${++appCount}`;
  const { mcp_path } = await sharedMaker.app(app, fields);
  return { app, url: `${hub.url}${mcp_path}` };
}
const namesOf = (tools: { name: string }[]) => tools.map(({ name }) => name);

const city = { name: "city", type: "string", description: "Such as Bern" };
const days = { name: "days", type: "integer", optional: true };

/** Publishes a flow with two `UserIntent` triggers, whose branches join at the last two nodes. */
const publishWeather = (app: string) =>
  sharedMaker.flow(
    app,
    "Weather",
    [
      intent("now", "Get Weather Data", [city], {
        whenToUse: "The user asks for the weather.",
        whenNotToUse: "They ask for the climate.",
      }),
      intent("later", "Get Forecast", [city, days]),
      {
        id: "only-now",
        type: "Transform",
        name: "Now",
        parameters: { expression: '{ "kind": "now" }' },
      },
      {
        id: "only-later",
        type: "Transform",
        name: "Later",
        parameters: { expression: '{ "kind": "forecast" }' },
      },
      { id: "both", type: "Merge", name: "Both", parameters: {} },
      returns("end", {
        of: "{{ trigger.city }}",
        now: "{{ now.kind? }}",
        later: "{{ later.kind? }}",
      }),
    ],
    [
      ["now", "only-now"],
      ["later", "only-later"],
      ["only-now", "both"],
      ["only-later", "both"],
      ["both", "end"],
    ],
  );

/** Publishes a flow with the tool `go`, whose runs wait for an hour. */
const publishLongFlow = (app: string) =>
  sharedMaker.flow(
    app,
    "Long",
    [intent("go", "Go"), waits("long", 3_600), returns("end", 1)],
    [
      ["go", "long"],
      ["long", "end"],
    ],
  );
const expectRunStatus = (app: string, status: string) =>
  expect.poll(async () => (await sharedMaker.listRuns(app)).items).toMatchObject([{ status }]);

describe.each(hosts)("on %s", (host) => {
  useHub(host);

  describe.each(clients)("a client (%s)", (version, connect) => {
    /** A client without a session cancels a call when it disconnects. */
    const isStateless = /negotiated|2026-07-28/.test(version);

    it("lists two triggers of one flow as two tools, and each tool runs only its own branch", async () => {
      const { app, url } = await createApp({ name: "The weather", description: "Of any city." });
      await publishWeather(app);
      const client = await connect(url, TOKEN);
      const tools = await client.tools();
      expect(namesOf(tools)).toEqual(["get_forecast", "get_weather_data"]);
      const [forecast, now] = tools;
      expect(Object.keys(forecast?.inputSchema.properties ?? {})).toEqual(["city", "days"]);
      expect(now).toMatchObject({
        title: "Get Weather Data",
        description:
          "What Get Weather Data does.\n\nWhen to use: The user asks for the weather.\n\nWhen not to use: They ask for the climate.",
        inputSchema: { properties: { city: { type: "string" } }, required: ["city"] },
        annotations: { readOnlyHint: true },
      });

      const called = await client.call("get_weather_data", { city: "Bern" });
      expect(called.isError).toBeFalsy();
      expect(called.structuredContent).toMatchObject({ of: "Bern", now: "now" });
      expect(JSON.parse(called.content[0]?.text ?? "")).toEqual(called.structuredContent);
      const { steps } = await sharedMaker.getRun(String(called._meta?.["signalbox/run"]));
      expect(steps.map(({ node_id }) => node_id).sort()).toEqual([
        "both",
        "end",
        "now",
        "only-now",
      ]);

      const forecastResult = await client.call("get_forecast", { city: "Basel", days: 3 });
      expect(forecastResult.structuredContent).toMatchObject({ of: "Basel", later: "forecast" });
    });

    it("gets an error with the name of an invalid argument", async () => {
      const { app, url } = await createApp();
      await publishWeather(app);
      const client = await connect(url, TOKEN);
      const missing = await client.call("get_forecast");
      expect(missing).toMatchObject({ isError: true, content: [{ text: "city: is missing" }] });
      const invalid = await client.call("get_forecast", { city: "Bern", days: 1.5, hours: 2 });
      expect(invalid.isError).toBe(true);
      expect(invalid.content[0]?.text).toMatch(
        /days: must be an integer.*hours: unexpected argument/,
      );
      await expect(client.call("get_climate")).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining("There is no tool get_climate."),
      });
      expect((await sharedMaker.listRuns(app)).items).toEqual([]);
    });

    it("gets an error from a tool that is not connected to any nodes", async () => {
      const { app, url } = await createApp();
      const flow = await sharedMaker.flow(app, "Lonely", [intent("go", "Go"), returns("end", 1)]);
      expect(flow.warnings).toContainEqual(
        expect.objectContaining({
          code: "trigger_leads_nowhere",
          message: expect.stringContaining("Go: is not connected to any nodes"),
        }),
      );
      const client = await connect(url, TOKEN);
      const called = await client.call("go");
      expect(called.isError).toBe(true);
      expect(called.content[0]?.text).toMatch(
        /The tool go is not connected to any nodes.* Add an edge from "Go" to another node, and publish/,
      );
    });

    it("is notified of added, removed and renamed tools, and can call a tool by its former name", async () => {
      const { app, url } = await createApp();
      const client = await connect(url, TOKEN);
      expect(await client.tools()).toEqual([]);
      const countChanges = await client.listen();
      const flow = await publishWeather(app);
      await expect.poll(countChanges).toBe(1);
      expect(await client.tools()).toHaveLength(2);

      await sharedMaker.changeNode(flow.id, "now", { name: "Current Weather" });
      // A draft does not change the tools.
      expect(namesOf(await client.tools())).toContain("get_weather_data");
      await sharedMaker.publish(flow.id);
      await expect.poll(countChanges).toBe(2);
      expect(namesOf(await client.tools())).toEqual(["current_weather", "get_forecast"]);
      const called = await client.call("get_weather_data", { city: "Bern" });
      expect(called.structuredContent).toMatchObject({ of: "Bern" });
      expect(called.content.at(-1)?.text).toMatch(
        /get_weather_data was renamed to current_weather/,
      );
      expect(called._meta).toMatchObject({ "signalbox/renamedTo": "current_weather" });

      const { parameters } = intent("later", "Get Forecast", [city, days], { isActive: false });
      await sharedMaker.changeNode(flow.id, "later", { parameters });
      await sharedMaker.publish(flow.id);
      await expect.poll(countChanges).toBe(3);
      expect(namesOf(await client.tools())).toEqual(["current_weather"]);
      await expect(client.call("get_forecast", { city: "Bern" })).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining("The tool get_forecast is not active."),
      });

      await sharedMaker.call("DELETE", `/api/flows/${flow.id}`);
      await expect.poll(countChanges).toBe(4);
      expect(await client.tools()).toEqual([]);
    });

    it("gets progress messages with the names of the nodes", async () => {
      const { app, url } = await createApp();
      await sharedMaker.flow(
        app,
        "Slow",
        [
          intent("go", "Go"),
          waits("first", 0.05),
          waits("second", 0.05),
          returns("end", "{{ trigger }}"),
        ],
        [
          ["go", "first"],
          ["first", "second"],
          ["second", "end"],
        ],
      );
      const client = await connect(url, TOKEN);
      const messages: string[] = [];
      await client.call(
        "go",
        {},
        {
          onprogress: ({ progress, total, message }) =>
            messages.push(`${progress}/${total} ${message}`),
        },
      );
      expect(messages.slice(0, 3)).toEqual(["1/4 Go", "2/4 Wait first", "3/4 Wait second"]);
    });

    it("cancels the run when it cancels the call", async ({ skip }) => {
      skip(host === "workerd" && isStateless, DISCONNECT_UNDETECTED);
      const { app, url } = await createApp();
      await publishLongFlow(app);
      const client = await connect(url, TOKEN);
      const abort = new AbortController();
      const call = client.call("go", {}, { signal: abort.signal }).catch(() => {});
      await expectRunStatus(app, "waiting");
      abort.abort();
      await call;
      await expectRunStatus(app, "cancelled");
    });

    it("cancels the run when it disconnects", async ({ skip }) => {
      skip(host === "workerd" && isStateless, DISCONNECT_UNDETECTED);
      const { app, url } = await createApp();
      await publishLongFlow(app);
      const client = await connect(url, TOKEN);
      const call = client.call("go").catch(() => {});
      await expectRunStatus(app, "waiting");
      await client.close();
      await call;
      await expectRunStatus(app, "cancelled");
    });

    it("gets the error of a run with its node and run id", async () => {
      const { app, url } = await createApp();
      await sharedMaker.flow(
        app,
        "Broken",
        [
          intent("go", "Go"),
          {
            id: "sum",
            type: "Code",
            name: "Sum up",
            parameters: { code: "throw new Error('no sums today')" },
          },
          returns("end", "{{ sum_up }}"),
        ],
        [
          ["go", "sum"],
          ["sum", "end"],
        ],
      );
      const client = await connect(url, TOKEN);
      const called = await client.call("go");
      const run = called._meta?.["signalbox/run"];
      expect(called.isError).toBe(true);
      expect(called.content[0]?.text).toMatch(/no sums today/);
      expect(called.content[0]?.text).toContain(`(node "Sum up", run ${run})`);
    });
  });

  it("a client without a session cancels the run when it disconnects after the first progress message", async () => {
    const { app, url } = await createApp();
    await publishLongFlow(app);
    const client = await connectNewestVersion(url, TOKEN);
    const firstProgress = Promise.withResolvers<void>();
    const call = client
      .call("go", {}, { onprogress: () => firstProgress.resolve() })
      .catch(() => {});
    await firstProgress.promise;
    await client.close();
    await call;
    await expectRunStatus(app, "cancelled");
  });

  it("a tool with a concurrency limit of one queues, rejects or replaces calls", async () => {
    const { app, url } = await createApp();
    const policies = ["queue", "skip", "replace"];
    const lane = { name: "lane", type: "string" };
    await sharedMaker.flow(
      app,
      "Narrow",
      [
        ...policies.map((whenFull) =>
          intent(whenFull, whenFull, [lane], { concurrency: { most: 1, key: "lane", whenFull } }),
        ),
        waits("work", 1),
        returns("end", { of: "{{ trigger.lane }}" }),
      ],
      [...policies.map((id): [string, string] => [id, "work"]), ["work", "end"]],
    );
    const client = await connectNewestVersion(url, TOKEN);
    const call = async (name: string, lane = "a") => {
      const { isError, content, structuredContent } = await client.call(name, { lane });
      return isError ? content[0]?.text : structuredContent;
    };
    const callInParallel = (count: number, name: string) =>
      Promise.all(Array.from({ length: count }, () => call(name)));
    const [queued, skipped, replaced, inOtherLane] = await Promise.all([
      callInParallel(2, "queue"),
      callInParallel(3, "skip"),
      callInParallel(4, "replace"),
      Promise.all(policies.map((name) => call(name, "b"))),
    ]);
    const busy = "busy: 1 run of this tool is active; try again later.";
    const replacement = expect.stringContaining(
      "A newer run replaced it while it waited for its concurrency limit",
    );
    expect(queued).toEqual([{ of: "a" }, { of: "a" }]);
    expect(skipped.toSorted()).toEqual([{ of: "a" }, busy, busy]);
    expect(replaced.toSorted()).toEqual([replacement, replacement, { of: "a" }, { of: "a" }]);
    expect(inOtherLane).toEqual([{ of: "b" }, { of: "b" }, { of: "b" }]);
    const runs = (await sharedMaker.listRuns(app)).items;
    expect(runs.filter(({ status }) => status === "cancelled")).toHaveLength(2);
    expect(runs).toHaveLength(10);
  });

  it("tools with the same name get the suffixes _2 and _3 within an app", async () => {
    const { app, url } = await createApp();
    for (const value of ["one", "two", "three"])
      await sharedMaker.flow(
        app,
        value,
        [intent("go", "Get Weather"), returns("end", { value })],
        [["go", "end"]],
      );
    const client = await connectNewestVersion(url, TOKEN);
    expect(namesOf(await client.tools())).toEqual([
      "get_weather",
      "get_weather_2",
      "get_weather_3",
    ]);
    expect((await client.call("get_weather_3")).structuredContent).toEqual({ value: "three" });
  });

  it("a flow without triggers has no tools and reports the reason", async () => {
    const { app, url } = await createApp();
    const flow = await sharedMaker.flow(app, "Nothing", [returns("end", 1)]);
    expect(flow.hasTriggers).toBe(false);
    expect(flow.warnings.map(({ message }) => message)).toContain(
      "This flow has no trigger nodes and cannot be executed via MCP.",
    );
    expect(await (await connectNewestVersion(url, TOKEN)).tools()).toEqual([]);
  });

  it("an app lists a thousand tools in pages", async ({ skip }) => {
    skip(host === "workerd", SLOW);
    const { app, url } = await createApp();
    const createIntents = (flow: number) =>
      Array.from({ length: 100 }, (_, index) =>
        intent(`n${index}`, `Tool ${flow * 100 + index + 10_000}`),
      );
    for (let flow = 0; flow < 10; flow += 1)
      await sharedMaker.flow(app, `Flow ${flow}`, createIntents(flow));
    for (const [, connect] of clients) {
      const tools = namesOf(await (await connect(url, TOKEN)).tools());
      expect(tools).toEqual(Array.from({ length: 1_000 }, (_, index) => `tool_${index + 10_000}`));
    }
  });

  it("MCP Inspector lists the tools of an app and calls one", async () => {
    const { app, url } = await createApp();
    await publishWeather(app);
    const home = tempFolder();
    const inspect = async (...args: string[]) => {
      const header = ["--header", `Authorization: Bearer ${TOKEN}`];
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [INSPECTOR, "--cli", url, "--transport", "http", "--method", ...args, ...header],
        // The Inspector writes a file to the home folder.
        { env: { PATH: process.env.PATH, HOME: home }, timeout: 100_000 },
      );
      return JSON.parse(stdout);
    };
    const { tools } = await inspect("tools/list");
    expect(namesOf(tools)).toEqual(["get_forecast", "get_weather_data"]);
    const call = ["tools/call", "--tool-name", "get_weather_data", "--tool-arg", "city=Bern"];
    expect(await inspect(...call)).toMatchObject({ structuredContent: { of: "Bern" } });
  });

  it("an app rejects invalid messages with an error", async () => {
    const { app, url } = await createApp();
    await publishWeather(app);
    const expectRejection = (method: string, params: Record<string, unknown>) =>
      expect(rpc(url, TOKEN, method, params)).rejects;
    await expectRejection("tools/call", { name: 5 }).toMatchObject({ code: -32602 });
    await expectRejection("tools/call", {}).toMatchObject({ code: -32602 });
    await expectRejection("tools/list", { cursor: "x".repeat(10_000) }).toMatchObject({
      code: -32602,
      message: "cursor: is not a cursor of this list",
    });
    await expectRejection("resources/list", {}).toMatchObject({ code: -32601 });
    const call = (args: unknown) =>
      rpc(url, TOKEN, "tools/call", { name: "get_weather_data", arguments: args, task: 5 });
    for (const args of [[], "city", 5, null])
      expect(await call(args)).toMatchObject({
        isError: true,
        content: [{ text: "arguments: must be an object" }],
      });
    expect(await rpc(url, TOKEN, "tools/call", { name: "get_weather_data" })).toMatchObject({
      isError: true,
      content: [{ text: "city: is missing" }],
    });
    expect(await call({ city: "Bern" })).toMatchObject({ structuredContent: { of: "Bern" } });
  });

  describe("access to an app", () => {
    it("requires only a token of `signalbox token create NAME`", async () => {
      const { app, url } = await createApp();
      await publishWeather(app);
      const { token } = await createTokenByCli(settings);
      const client = await connectNewestVersion(url, token);
      expect((await client.call("get_weather_data", { city: "Bern" })).isError).toBeFalsy();
    });

    it("fails with 401 without a token, 403 without the scope flows:call, and 404 for an unknown app", async () => {
      const ping = async (path: string, token?: string) => {
        const response = await fetch(`${hub.url}${path}`, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            accept: "application/json, text/event-stream",
            ...(token && { authorization: `Bearer ${token}` }),
          },
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
        });
        return {
          status: response.status,
          body: (await response.json()) as Record<string, unknown>,
        };
      };
      expect(await ping("/mcp/nowhere", TOKEN)).toMatchObject({
        status: 404,
        body: { code: "not_found", detail: "There is no app nowhere." },
      });
      const { app } = await createApp();
      expect(await ping(`/mcp/${app}`)).toMatchObject({ status: 401 });
      const { token: reader } = await createTokenByCli(settings, "--scope", "inbox:read");
      expect(await ping(`/mcp/${app}`, reader)).toMatchObject({
        status: 403,
        body: { detail: "The token lacks the scope flows:call." },
      });
    });

    it("is separate for two tenants with an app of the same name", async () => {
      const data = tempFolder();
      const multiTenant = await startOn(host, {
        data,
        env: {
          SIGNALBOX_TENANCY: "github",
          SIGNALBOX_TOKEN: TOKEN,
          GITHUB_WEBHOOK_SECRET: "s3cret-s3cret",
        },
      });
      onTestFinished(async () => void (await multiTenant.stop()));
      const settings = {
        ...commandSettings(host, multiTenant, { data, token: TOKEN }),
        SIGNALBOX_TENANCY: "github",
      };
      const tokenFor = async (tenants: string) =>
        (await createTokenByCli(settings, "--scope", "admin", "--tenant", tenants)).token;
      const [ada, bob, both] = [await tokenFor("1"), await tokenFor("2"), await tokenFor("1,2")];
      const url = `${multiTenant.url}/mcp/shared`;
      const createSharedApp = async (token: string, name: string) => {
        const maker = createFlowMaker(multiTenant.url, token);
        await maker.app("shared");
        const publishFlow = () =>
          maker.flow(
            "shared",
            name,
            [intent("go", name), waits("w", 3_600), returns("end", 1)],
            [
              ["go", "w"],
              ["w", "end"],
            ],
          );
        return { maker, publishFlow };
      };
      const [adasApp, bobsApp] = [
        await createSharedApp(ada, "Of Ada"),
        await createSharedApp(bob, "Of Bob"),
      ];
      for (const [, connect] of clients) {
        const client = await connect(url, bob);
        const countChanges = await client.listen();
        const { id } = await adasApp.publishFlow();
        await adasApp.maker.call("DELETE", `/api/flows/${id}`);
        expect(await client.tools()).toEqual([]);
        expect(countChanges()).toBe(0);
        const { id: bobsFlow } = await bobsApp.publishFlow();
        await expect.poll(countChanges).toBeGreaterThan(0);
        expect(countChanges()).toBe(1);
        expect(namesOf(await client.tools())).toEqual(["of_bob"]);
        await expect(client.call("of_ada")).rejects.toThrow("There is no tool of_ada.");
        await bobsApp.maker.call("DELETE", `/api/flows/${bobsFlow}`);
        await client.close();
      }

      // A task belongs to its tenant, like the app.
      await adasApp.publishFlow();
      const task = await callAsTask(url, ada, "of_ada");
      expect(task).toMatchObject({ resultType: "task", status: "working" });
      const taskId = String(task.taskId);
      for (const method of ["tasks/get", "tasks/cancel", "tasks/update"])
        await expect(rpc(url, bob, method, { taskId, inputResponses: {} })).rejects.toMatchObject({
          code: -32602,
        });
      expect(await rpc(url, ada, "tasks/get", { taskId })).toMatchObject({ status: "working" });

      await expect(connectNewestVersion(url, both)).rejects.toThrow();
      expect(namesOf(await (await connectNewestVersion(`${url}?tenant=1`, both)).tools())).toEqual([
        "of_ada",
      ]);
    });

    it("ends when the token is revoked, and the hub closes the stream of tool changes", async () => {
      const { url } = await createApp();
      const { id, token } = await createTokenByCli(settings, "--scope", "flows:call");
      const stream = await post(url, token, "subscriptions/listen", {
        notifications: { toolsListChanged: true },
      });
      expect(stream.headers.get("content-type")).toMatch("text/event-stream");
      await runCli(["token", "revoke", id], { env: settings });
      expect(await stream.text()).toContain("notifications/subscriptions/acknowledged");
    });

    it("is limited to one app per session", async () => {
      const [first, second] = [await createApp(), await createApp()];
      const headers = {
        authorization: `Bearer ${TOKEN}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      };
      const opened = await fetch(first.url, {
        method: "POST",
        headers,
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "initialize",
          params: {
            protocolVersion: "2025-11-25",
            capabilities: {},
            clientInfo: { name: "story", version: "1" },
          },
        }),
      });
      const session = opened.headers.get("mcp-session-id") ?? "";
      await opened.text();
      const listTools = async (url: string) => {
        const response = await fetch(url, {
          method: "POST",
          headers: { ...headers, "mcp-session-id": session },
          body: JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/list" }),
        });
        await response.text();
        return response.status;
      };
      expect(await listTools(first.url)).toBe(200);
      expect(await listTools(second.url)).toBe(404);
      expect(await listTools(`${hub.url}/mcp`)).toBe(404);
    });
  });

  it("the hub has logged no error in the tests above", async () => {
    await hub.stop();
    expect(hub.output()).not.toMatch(/"level":([56]0|"error")/);
  });
});
