/** An app is an MCP server. Its tools are the intents of its flows, in every protocol version. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { clients, newest } from "../support/app-clients.ts";
import { SECRET } from "../support/deliver.ts";
import { createFlowMaker, intent, returns, waits } from "../support/flow-maker.ts";
import { commandSettings, type Host, hosts, startOn } from "../support/hosts.ts";
import { createTokenByCli, type HubProcess, runCli } from "../support/hub-process.ts";
import { callAsTask, post, rpc } from "../support/task-client.ts";
import { tempFolder } from "../support/temp-folder.ts";

const INSPECTOR = fileURLToPath(
  import.meta.resolve("@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
);
const TOKEN = "sbx_of_the_story_of_app_servers";
const UNNOTICED = "workerd does not notice a disconnect before the response has begun";
const AT_LENGTH = "does not depend on the host, and takes long";

let hub: HubProcess;
let make: ReturnType<typeof createFlowMaker>;
let settings: Record<string, string>;

/** Starts one hub for all tests of a host. */
function useHub(host: Host): void {
  const data = mkdtempSync(join(tmpdir(), "signalbox-apps-"));
  beforeAll(async () => {
    const env = { SIGNALBOX_TOKEN: TOKEN, GITHUB_WEBHOOK_SECRET: SECRET };
    hub = await startOn(host, { data, env });
    make = createFlowMaker(hub.url, TOKEN);
    settings = commandSettings(host, hub, { data, token: TOKEN });
  });
  afterAll(async () => {
    await hub.stop();
    rmSync(data, { recursive: true, force: true });
  });
}

let apps = 0;
/** Creates an app, and returns its slug and its URL. */
async function newApp(more: object = {}): Promise<{ app: string; url: string }> {
  const app = `app-${++apps}`;
  const { mcp_path } = await make.app(app, more);
  return { app, url: `${hub.url}${mcp_path}` };
}
const names = (tools: { name: string }[]) => tools.map(({ name }) => name);

const city = { name: "city", type: "string", description: "Such as Bern" };
const days = { name: "days", type: "integer", optional: true };

/** Publishes a flow with two intents: their branches join at the last two nodes. */
const publishWeather = (app: string) =>
  make.flow(
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

const publishLong = (app: string) =>
  make.flow(
    app,
    "Long",
    [intent("go", "Go"), waits("long", 3_600), returns("end", 1)],
    [
      ["go", "long"],
      ["long", "end"],
    ],
  );
const expectStatus = (app: string, status: string) =>
  expect.poll(async () => (await make.runs(app)).items).toMatchObject([{ status }]);

describe.each(hosts)("on %s", (host) => {
  useHub(host);

  describe.each(clients)("a client (%s)", (version, connect) => {
    /** Clients without a session cancel a call by disconnecting. */
    const isStateless = /negotiated|2026-07-28/.test(version);

    it("lists two intents of one flow as two tools, and each tool runs only its own branch", async () => {
      const { app, url } = await newApp({ name: "The weather", description: "Of any city." });
      await publishWeather(app);
      const client = await connect(url, TOKEN);
      const tools = await client.tools();
      expect(names(tools)).toEqual(["get_forecast", "get_weather_data"]);
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
      const { steps } = await make.run(String(called._meta?.["signalbox/run"]));
      expect(steps.map(({ node_id }) => node_id).sort()).toEqual([
        "both",
        "end",
        "now",
        "only-now",
      ]);

      const other = await client.call("get_forecast", { city: "Basel", days: 3 });
      expect(other.structuredContent).toMatchObject({ of: "Basel", later: "forecast" });
    });

    it("gets an error with the name of an invalid argument", async () => {
      const { app, url } = await newApp();
      await publishWeather(app);
      const client = await connect(url, TOKEN);
      const missing = await client.call("get_forecast");
      expect(missing).toMatchObject({ isError: true, content: [{ text: "city: is missing" }] });
      const wrong = await client.call("get_forecast", { city: "Bern", days: 1.5, hours: 2 });
      expect(wrong.isError).toBe(true);
      expect(wrong.content[0]?.text).toMatch(
        /days: must be an integer.*hours: unexpected argument/,
      );
      await expect(client.call("get_climate")).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining("There is no tool get_climate."),
      });
      expect((await make.runs(app)).items).toEqual([]);
    });

    it("gets an error from a tool that is not connected to any nodes", async () => {
      const { app, url } = await newApp();
      const flow = await make.flow(app, "Lonely", [intent("go", "Go"), returns("end", 1)]);
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
      const { app, url } = await newApp();
      const client = await connect(url, TOKEN);
      expect(await client.tools()).toEqual([]);
      const changes = await client.listen();
      const flow = await publishWeather(app);
      await expect.poll(changes).toBe(1);
      expect(await client.tools()).toHaveLength(2);

      await make.change(flow.id, "now", { name: "Current Weather" });
      // A draft does not change the tools.
      expect(names(await client.tools())).toContain("get_weather_data");
      await make.publish(flow.id);
      await expect.poll(changes).toBe(2);
      expect(names(await client.tools())).toEqual(["current_weather", "get_forecast"]);
      const called = await client.call("get_weather_data", { city: "Bern" });
      expect(called.structuredContent).toMatchObject({ of: "Bern" });
      expect(called.content.at(-1)?.text).toMatch(
        /get_weather_data was renamed to current_weather/,
      );
      expect(called._meta).toMatchObject({ "signalbox/renamedTo": "current_weather" });

      const { parameters } = intent("later", "Get Forecast", [city, days], { isActive: false });
      await make.change(flow.id, "later", { parameters });
      await make.publish(flow.id);
      await expect.poll(changes).toBe(3);
      expect(names(await client.tools())).toEqual(["current_weather"]);
      await expect(client.call("get_forecast", { city: "Bern" })).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining("The tool get_forecast is not active."),
      });

      await make.call("DELETE", `/api/flows/${flow.id}`);
      await expect.poll(changes).toBe(4);
      expect(await client.tools()).toEqual([]);
    });

    it("gets progress with the names of the nodes", async () => {
      const { app, url } = await newApp();
      await make.flow(
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
      const seen: string[] = [];
      await client.call(
        "go",
        {},
        {
          onprogress: ({ progress, total, message }) =>
            seen.push(`${progress}/${total} ${message}`),
        },
      );
      expect(seen.slice(0, 3)).toEqual(["1/4 Go", "2/4 Wait first", "3/4 Wait second"]);
    });

    it("cancels the run by cancelling the call", async ({ skip }) => {
      skip(host === "workerd" && isStateless, UNNOTICED);
      const { app, url } = await newApp();
      await publishLong(app);
      const client = await connect(url, TOKEN);
      const abort = new AbortController();
      const call = client.call("go", {}, { signal: abort.signal }).catch(() => {});
      await expectStatus(app, "waiting");
      abort.abort();
      await call;
      await expectStatus(app, "cancelled");
    });

    it("cancels the run by disconnecting", async ({ skip }) => {
      skip(host === "workerd" && isStateless, UNNOTICED);
      const { app, url } = await newApp();
      await publishLong(app);
      const client = await connect(url, TOKEN);
      const call = client.call("go").catch(() => {});
      await expectStatus(app, "waiting");
      await client.close();
      await call;
      await expectStatus(app, "cancelled");
    });

    it("gets the error of a run with its node and run id", async () => {
      const { app, url } = await newApp();
      await make.flow(
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

  it("a client without a session cancels the run by disconnecting after the first progress", async () => {
    const { app, url } = await newApp();
    await publishLong(app);
    const client = await newest(url, TOKEN);
    const begun = Promise.withResolvers<void>();
    const call = client.call("go", {}, { onprogress: () => begun.resolve() }).catch(() => {});
    await begun.promise;
    await client.close();
    await call;
    await expectStatus(app, "cancelled");
  });

  it("a tool with a concurrency limit of one queues, rejects or replaces calls", async () => {
    const { app, url } = await newApp();
    const policies = ["queue", "skip", "replace"];
    const which = { name: "which", type: "string" };
    await make.flow(
      app,
      "Narrow",
      [
        ...policies.map((whenFull) =>
          intent(whenFull, whenFull, [which], { concurrency: { most: 1, key: "which", whenFull } }),
        ),
        waits("work", 1),
        returns("end", { of: "{{ trigger.which }}" }),
      ],
      [...policies.map((id): [string, string] => [id, "work"]), ["work", "end"]],
    );
    const client = await newest(url, TOKEN);
    const call = async (name: string, which = "a") => {
      const { isError, content, structuredContent } = await client.call(name, { which });
      return isError ? content[0]?.text : structuredContent;
    };
    const times = (count: number, name: string) =>
      Promise.all(Array.from({ length: count }, () => call(name)));
    const [queued, skipped, replaced, others] = await Promise.all([
      times(2, "queue"),
      times(3, "skip"),
      times(4, "replace"),
      Promise.all(policies.map((name) => call(name, "b"))),
    ]);
    const busy = "busy: 1 run of this tool is active; try again later.";
    const replacement = expect.stringContaining(
      "A newer run replaced it while it waited for its concurrency limit",
    );
    expect(queued).toEqual([{ of: "a" }, { of: "a" }]);
    expect(skipped.toSorted()).toEqual([{ of: "a" }, busy, busy]);
    expect(replaced.toSorted()).toEqual([replacement, replacement, { of: "a" }, { of: "a" }]);
    expect(others).toEqual([{ of: "b" }, { of: "b" }, { of: "b" }]);
    const runs = (await make.runs(app)).items;
    expect(runs.filter(({ status }) => status === "cancelled")).toHaveLength(2);
    expect(runs).toHaveLength(10);
  });

  it("tools with the same name get the suffixes _2 and _3 within an app", async () => {
    const { app, url } = await newApp();
    for (const value of ["one", "two", "three"])
      await make.flow(
        app,
        value,
        [intent("go", "Get Weather"), returns("end", { value })],
        [["go", "end"]],
      );
    const client = await newest(url, TOKEN);
    expect(names(await client.tools())).toEqual(["get_weather", "get_weather_2", "get_weather_3"]);
    expect((await client.call("get_weather_3")).structuredContent).toEqual({ value: "three" });
  });

  it("a flow without triggers has no tools and reports the reason", async () => {
    const { app, url } = await newApp();
    const flow = await make.flow(app, "Nothing", [returns("end", 1)]);
    expect(flow.hasTriggers).toBe(false);
    expect(flow.warnings.map(({ message }) => message)).toContain(
      "This flow has no trigger nodes and cannot be executed via MCP.",
    );
    expect(await (await newest(url, TOKEN)).tools()).toEqual([]);
  });

  it("lists a thousand tools in pages", async ({ skip }) => {
    skip(host === "workerd", AT_LENGTH);
    const { app, url } = await newApp();
    const some = (flow: number) =>
      Array.from({ length: 100 }, (_, at) => intent(`n${at}`, `Tool ${flow * 100 + at + 10_000}`));
    for (let flow = 0; flow < 10; flow += 1) await make.flow(app, `Flow ${flow}`, some(flow));
    for (const [, connect] of clients) {
      const tools = names(await (await connect(url, TOKEN)).tools());
      expect(tools).toEqual(Array.from({ length: 1_000 }, (_, at) => `tool_${at + 10_000}`));
    }
  });

  it("MCP Inspector lists the tools of an app and calls one", async () => {
    const { app, url } = await newApp();
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
    expect(names(tools)).toEqual(["get_forecast", "get_weather_data"]);
    const call = ["tools/call", "--tool-name", "get_weather_data", "--tool-arg", "city=Bern"];
    expect(await inspect(...call)).toMatchObject({ structuredContent: { of: "Bern" } });
  });

  it("rejects invalid messages with a clear error", async () => {
    const { app, url } = await newApp();
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
    it("needs no more than a token of `signalbox token create NAME`", async () => {
      const { app, url } = await newApp();
      await publishWeather(app);
      const { token } = await createTokenByCli(settings);
      const client = await newest(url, token);
      expect((await client.call("get_weather_data", { city: "Bern" })).isError).toBeFalsy();
    });

    it("is checked first: 401 without a token, 403 without the scope, 404 for an unknown app", async () => {
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
      const { app } = await newApp();
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
      const createShared = async (token: string, name: string) => {
        const maker = createFlowMaker(multiTenant.url, token);
        await maker.app("shared");
        const flow = () =>
          maker.flow(
            "shared",
            name,
            [intent("go", name), waits("w", 3_600), returns("end", 1)],
            [
              ["go", "w"],
              ["w", "end"],
            ],
          );
        return { maker, flow };
      };
      const [adas, bobs] = [await createShared(ada, "Of Ada"), await createShared(bob, "Of Bob")];
      for (const [, connect] of clients) {
        const client = await connect(url, bob);
        const changes = await client.listen();
        const { id } = await adas.flow();
        await adas.maker.call("DELETE", `/api/flows/${id}`);
        expect(await client.tools()).toEqual([]);
        expect(changes()).toBe(0);
        const { id: own } = await bobs.flow();
        await expect.poll(changes).toBeGreaterThan(0);
        expect(changes()).toBe(1);
        expect(names(await client.tools())).toEqual(["of_bob"]);
        await expect(client.call("of_ada")).rejects.toThrow("There is no tool of_ada.");
        await bobs.maker.call("DELETE", `/api/flows/${own}`);
        await client.close();
      }

      // A task belongs to its tenant, like the app.
      await adas.flow();
      const task = await callAsTask(url, ada, "of_ada");
      expect(task).toMatchObject({ resultType: "task", status: "working" });
      const taskId = String(task.taskId);
      for (const method of ["tasks/get", "tasks/cancel", "tasks/update"])
        await expect(rpc(url, bob, method, { taskId, inputResponses: {} })).rejects.toMatchObject({
          code: -32602,
        });
      expect(await rpc(url, ada, "tasks/get", { taskId })).toMatchObject({ status: "working" });

      await expect(newest(url, both)).rejects.toThrow();
      expect(names(await (await newest(`${url}?tenant=1`, both)).tools())).toEqual(["of_ada"]);
    });

    it("is checked repeatedly: a stream of changes ends when its token is revoked", async () => {
      const { url } = await newApp();
      const { id, token } = await createTokenByCli(settings, "--scope", "flows:call");
      const stream = await post(url, token, "subscriptions/listen", {
        notifications: { toolsListChanged: true },
      });
      expect(stream.headers.get("content-type")).toMatch("text/event-stream");
      await runCli(["token", "revoke", id], { env: settings });
      expect(await stream.text()).toContain("notifications/subscriptions/acknowledged");
    });

    it("is limited to one app per session", async () => {
      const [one, other] = [await newApp(), await newApp()];
      const headers = {
        authorization: `Bearer ${TOKEN}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      };
      const opened = await fetch(one.url, {
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
      const list = async (url: string) => {
        const response = await fetch(url, {
          method: "POST",
          headers: { ...headers, "mcp-session-id": session },
          body: JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/list" }),
        });
        await response.text();
        return response.status;
      };
      expect(await list(one.url)).toBe(200);
      expect(await list(other.url)).toBe(404);
      expect(await list(`${hub.url}/mcp`)).toBe(404);
    });
  });

  it("the hub logs no errors", () => {
    expect(hub.output()).not.toMatch(/"level":([56]0|"error")/);
  });
});
