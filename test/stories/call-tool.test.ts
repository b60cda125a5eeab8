/** A flow calls a tool of another MCP server, on the real hub. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { newest } from "../support/app-clients.ts";
import { SECRET } from "../support/deliver.ts";
import { createFlowMaker, intent, type Node, returns } from "../support/flow-maker.ts";
import { type Host, hosts, startOn } from "../support/hosts.ts";
import type { HubProcess } from "../support/hub-process.ts";
import { serveSdk2, type Tools } from "../support/mcp-servers.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { WAIT } from "../support/timeouts.ts";

const TOKEN = "sbx_of_the_story_of_called_tools";
const env = {
  SIGNALBOX_TOKEN: TOKEN,
  SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1",
  GITHUB_WEBHOOK_SECRET: SECRET,
};
const KEY = "signalbox/idempotency-key";

let hub: HubProcess;
let make: ReturnType<typeof createFlowMaker>;

/** Starts one hub for all tests of a host. */
function useHub(host: Host): void {
  const data = mkdtempSync(join(tmpdir(), "signalbox-tools-"));
  beforeAll(async () => {
    hub = await startOn(host, { data, env });
    make = createFlowMaker(hub.url, TOKEN);
  });
  afterAll(async () => {
    await hub.stop();
    rmSync(data, { recursive: true, force: true });
  });
}

const outputSchema = {
  type: "object",
  properties: { degrees: { type: "number" } },
  required: ["degrees"],
  additionalProperties: false,
};
const described = [
  {
    name: "get_weather",
    inputSchema: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    },
    outputSchema,
  },
];

/** Adds a connection to a server whose only tool is `getWeather`, and checks it. */
async function connect(getWeather: NonNullable<Tools[string]>, maker = make): Promise<string> {
  const { url } = await serveSdk2({ get_weather: getWeather }, { described });
  const { id } = await maker.call<{ id: string }>("POST", "/api/connections", {
    name: "Weather",
    url,
  });
  await maker.call("POST", `/api/connections/${id}/check`, {});
  return id;
}

const city = { name: "city", type: "string" };
const callOf = (connection: string, parameters: object = {}): Node => ({
  id: "call",
  type: "CallTool",
  name: "Weather",
  parameters: {
    connection,
    tool: "get_weather",
    arguments: { city: "{{ trigger.city }}" },
    ...parameters,
  },
});

let apps = 0;
/** Publishes a tool `ask` that calls the tool of the connection. */
async function publish(connection: string, parameters: object = {}, maker = make) {
  const app = `app-${++apps}`;
  const { mcp_path } = await maker.app(app);
  const flow = await maker.flow(
    app,
    "Ask",
    [
      intent("ask", "Ask", [city]),
      callOf(connection, parameters),
      returns("end", "{{ weather.structured }}"),
      returns("sorry", { sorry: "{{ weather.error.message }}", code: "{{ weather.error.code }}" }),
    ],
    [
      ["ask", "call"],
      ["call", "end"],
      ["call", "sorry", "error"],
    ],
  );
  return { app, flow, url: `${hub.url}${mcp_path}` };
}

interface RunView {
  id: string;
  status: string;
  output: unknown;
  steps: { node_id: string; status: string; log: { text: string }[]; attempt: number }[];
}

const stepsOf = async (run: unknown) =>
  (await make.call<RunView>("GET", `/api/runs/${run}`)).steps.filter(
    ({ node_id }) => node_id === "call",
  );

describe.each(hosts)("a tool of a connection, on %s", (host) => {
  useHub(host);

  it("is called with its arguments and a key, and its progress reaches the caller", async () => {
    const calls: unknown[] = [];
    const reported = Promise.withResolvers<void>();
    const connection = await connect(async (given, { meta, progress }) => {
      calls.push([given, meta[KEY]]);
      await progress(1);
      await reported.promise;
      return { degrees: 12 };
    });
    const { url } = await publish(connection);
    const client = await newest(url, TOKEN);
    // The result of the flow is that of the tool, so it has the same schema, beside the error branch.
    expect((await client.tools())[0]?.outputSchema).toMatchObject({
      type: "object",
      anyOf: [outputSchema, { properties: { sorry: {}, code: {} } }],
    });
    const messages: string[] = [];
    const result = await client.call(
      "ask",
      { city: "Bern" },
      {
        onprogress({ message = "" }) {
          messages.push(message);
          if (message.startsWith("Weather: ")) reported.resolve();
        },
      },
    );
    expect(result).toMatchObject({ structuredContent: { degrees: 12 } });
    const run = result._meta?.["signalbox/run"];
    expect(calls).toEqual([[{ city: "Bern" }, `${run}:call`]]);
    expect(messages).toContain("Weather: 1 of 2: step 1");
    expect(await stepsOf(run)).toMatchObject([
      { status: "done", log: [{ level: "info", text: "1 of 2: step 1" }] },
    ]);
  });

  it("fails the step with its own words: retried with the same key, then the error branch", async () => {
    const keys: unknown[] = [];
    const connection = await connect((_, { meta }) => {
      keys.push(meta[KEY]);
      return { isError: true, content: [{ type: "text", text: "no such city" }] };
    });
    const { url } = await publish(connection, {
      settings: { retries: { attempts: 2, backoffMs: 1 } },
    });
    const result = await (await newest(url, TOKEN)).call("ask", { city: "Nowhere" });
    expect(result).toMatchObject({
      structuredContent: { sorry: "no such city", code: "tool_error" },
    });
    const key = `${result._meta?.["signalbox/run"]}:call`;
    expect(keys).toEqual([key, key]);
  });

  it("is cancelled at the server when the client cancels its call", async () => {
    const begun = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<void>();
    const connection = await connect((_, { signal }) => {
      signal.addEventListener("abort", () => cancelled.resolve(), { once: true });
      begun.resolve();
      return new Promise(() => {});
    });
    const { url, app } = await publish(connection);
    const client = await newest(url, TOKEN);
    const calling = new AbortController();
    const call = client.call(
      "ask",
      { city: "Bern" },
      {
        signal: calling.signal,
        // workerd notices a disconnect only if the response has begun, with progress.
        ...(host === "workerd" && { onprogress() {} }),
      },
    );
    call.catch(() => {});
    await begun.promise;
    calling.abort();
    await cancelled.promise;
    await vi.waitFor(async () => {
      expect((await make.runs(app)).items).toMatchObject([{ status: "cancelled" }]);
    }, WAIT);
  });

  it("is called again with the same key when the hub was killed during the call", async () => {
    const folder = tempFolder();
    const first = await startOn(host, { data: folder, env });
    const firstMaker = createFlowMaker(first.url, TOKEN);
    const keys: unknown[] = [];
    const begun = Promise.withResolvers<void>();
    const connection = await connect((_, { meta }) => {
      keys.push(meta[KEY]);
      begun.resolve();
      return keys.length === 1 ? new Promise(() => {}) : { degrees: 12 };
    }, firstMaker);
    const { flow } = await publish(connection, {}, firstMaker);
    const { id } = await firstMaker.call<RunView>("POST", `/api/flows/${flow.id}/runs`, {
      trigger: "ask",
      input: { city: "Bern" },
    });
    await begun.promise;
    await first.stop("SIGKILL");
    const second = await startOn(host, { data: folder, env });
    onTestFinished(async () => void (await second.stop()));
    const secondMaker = createFlowMaker(second.url, TOKEN);
    await vi.waitFor(async () => {
      const run = await secondMaker.call<RunView>("GET", `/api/runs/${id}`);
      expect(run).toMatchObject({ status: "succeeded", output: { degrees: 12 } });
    }, WAIT);
    expect(keys).toEqual([`${id}:call`, `${id}:call`]);
  });

  it("is checked when the flow is saved and published", async () => {
    const connection = await connect(() => ({ degrees: 12 }));
    const app = `app-${++apps}`;
    await make.app(app);
    const draftOf = (parameters: object) =>
      make.draft(
        app,
        "Ask",
        [intent("ask", "Ask", [city]), callOf(connection, parameters)],
        [["ask", "call"]],
      );
    for (const [parameters, code, message] of [
      [{ connection: "gone-1" }, "no_such_connection", "there is no connection gone-1"],
      [{ tool: "set_weather" }, "no_such_tool", "has no tool set_weather; it has get_weather"],
      [{ arguments: { city: 7 } }, "invalid_arguments", "arguments.city: must be a string"],
      [{ arguments: {} }, "invalid_arguments", 'missing required property \\"city\\"'],
    ] as const) {
      const draft = (await draftOf(parameters)) as Awaited<ReturnType<typeof draftOf>> & {
        errors: { code: string }[];
      };
      expect([...draft.errors, ...draft.warnings].map((one) => one.code)).toEqual([code]);
      await expect(make.publish(draft.id)).rejects.toThrow(message);
    }
    // Its server is not reachable any more: that does not prevent publishing.
    await make.call("PATCH", `/api/connections/${connection}`, { url: "http://127.0.0.1:1/mcp" });
    await make.call("POST", `/api/connections/${connection}/check`, {}).catch(() => {});
    const published = await make.publish((await draftOf({})).id);
    expect(published.warnings).toMatchObject([{ code: "connection_failed" }]);
  });
});
