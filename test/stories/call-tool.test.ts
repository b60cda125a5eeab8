/** A flow on a real hub calls a tool of an MCP server. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { connectNewestVersion } from "../support/app-clients.ts";
import { SECRET } from "../support/deliver.ts";
import { createFlowMaker, intent, type Node, returns } from "../support/flow-maker.ts";
import { type Host, hosts, startOn } from "../support/hosts.ts";
import type { HubProcess } from "../support/hub-process.ts";
import { serveSdk2, type Tools } from "../support/mcp-servers.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { WAIT } from "../support/timeouts.ts";

const TOKEN = "sbx_call_tool_story_token";
const env = {
  SIGNALBOX_TOKEN: TOKEN,
  SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1",
  GITHUB_WEBHOOK_SECRET: SECRET,
};
const KEY_FIELD = "signalbox/idempotency-key";

let hub: HubProcess;
let sharedMaker: ReturnType<typeof createFlowMaker>;

/** Starts one hub for all tests of a host. */
function useHub(host: Host): void {
  const data = mkdtempSync(join(tmpdir(), "signalbox-tools-"));
  beforeAll(async () => {
    hub = await startOn(host, { data, env });
    sharedMaker = createFlowMaker(hub.url, TOKEN);
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
const definitions = [
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

/** Adds a connection to a server with the only tool `get_weather`, checks it, and returns its id. */
async function connect(
  getWeather: NonNullable<Tools[string]>,
  maker = sharedMaker,
): Promise<string> {
  const { url } = await serveSdk2({ get_weather: getWeather }, { definitions });
  const { id } = await maker.call<{ id: string }>("POST", "/api/connections", {
    name: "Weather",
    url,
  });
  await maker.call("POST", `/api/connections/${id}/check`, {});
  return id;
}

const city = { name: "city", type: "string" };
const callToolNode = (connection: string, parameters: object = {}): Node => ({
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

let appCount = 0;
/** Publishes a flow with the tool `ask`, which calls `get_weather` of the connection. */
async function publish(connection: string, parameters: object = {}, maker = sharedMaker) {
  const app = `app-${++appCount}`;
  const { mcp_path } = await maker.app(app);
  const flow = await maker.flow(
    app,
    "Ask",
    [
      intent("ask", "Ask", [city]),
      callToolNode(connection, parameters),
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

const readCallSteps = async (run: unknown) =>
  (await sharedMaker.call<RunView>("GET", `/api/runs/${run}`)).steps.filter(
    ({ node_id }) => node_id === "call",
  );

describe.each(hosts)("a tool of a connection, on %s", (host) => {
  useHub(host);

  it("is called with arguments and an idempotency key, and its progress reaches the caller", async () => {
    const calls: unknown[] = [];
    const progressReceived = Promise.withResolvers<void>();
    const connection = await connect(async (args, { meta, progress }) => {
      calls.push([args, meta[KEY_FIELD]]);
      await progress(1);
      await progressReceived.promise;
      return { degrees: 12 };
    });
    const { url } = await publish(connection);
    const client = await connectNewestVersion(url, TOKEN);
    // The flow returns the result of `get_weather`, or the object of the error branch.
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
          if (message.startsWith("Weather: ")) progressReceived.resolve();
        },
      },
    );
    expect(result).toMatchObject({ structuredContent: { degrees: 12 } });
    const run = result._meta?.["signalbox/run"];
    expect(calls).toEqual([[{ city: "Bern" }, `${run}:call`]]);
    expect(messages).toContain("Weather: 1 of 2: step 1");
    expect(await readCallSteps(run)).toMatchObject([
      { status: "done", log: [{ level: "info", text: "1 of 2: step 1" }] },
    ]);
  });

  it("is retried with the same idempotency key after an error, then the error branch gets its error message", async () => {
    const keys: unknown[] = [];
    const connection = await connect((_, { meta }) => {
      keys.push(meta[KEY_FIELD]);
      return { isError: true, content: [{ type: "text", text: "no such city" }] };
    });
    const { url } = await publish(connection, {
      settings: { retries: { attempts: 2, backoffMs: 1 } },
    });
    const result = await (await connectNewestVersion(url, TOKEN)).call("ask", { city: "Nowhere" });
    expect(result).toMatchObject({
      structuredContent: { sorry: "no such city", code: "tool_error" },
    });
    const key = `${result._meta?.["signalbox/run"]}:call`;
    expect(keys).toEqual([key, key]);
  });

  it("is cancelled on its server when the client cancels the call of the flow", async () => {
    const callStarted = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<void>();
    const connection = await connect((_, { signal }) => {
      signal.addEventListener("abort", () => cancelled.resolve(), { once: true });
      callStarted.resolve();
      return new Promise(() => {});
    });
    const { url, app } = await publish(connection);
    const client = await connectNewestVersion(url, TOKEN);
    const controller = new AbortController();
    const call = client.call(
      "ask",
      { city: "Bern" },
      {
        signal: controller.signal,
        // workerd detects a disconnect only after the response has begun. Progress begins it.
        ...(host === "workerd" && { onprogress() {} }),
      },
    );
    call.catch(() => {});
    await callStarted.promise;
    controller.abort();
    await cancelled.promise;
    await vi.waitFor(async () => {
      expect((await sharedMaker.listRuns(app)).items).toMatchObject([{ status: "cancelled" }]);
    }, WAIT);
  });

  it("is called again with the same idempotency key after the hub was killed during the call", async () => {
    const folder = tempFolder();
    const first = await startOn(host, { data: folder, env });
    const firstMaker = createFlowMaker(first.url, TOKEN);
    const keys: unknown[] = [];
    const callStarted = Promise.withResolvers<void>();
    const connection = await connect((_, { meta }) => {
      keys.push(meta[KEY_FIELD]);
      callStarted.resolve();
      return keys.length === 1 ? new Promise(() => {}) : { degrees: 12 };
    }, firstMaker);
    const { flow } = await publish(connection, {}, firstMaker);
    const { id } = await firstMaker.call<RunView>("POST", `/api/flows/${flow.id}/runs`, {
      trigger: "ask",
      input: { city: "Bern" },
    });
    await callStarted.promise;
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

  it("is checked, with its arguments, when the flow is saved and when it is published", async () => {
    const connection = await connect(() => ({ degrees: 12 }));
    const app = `app-${++appCount}`;
    await sharedMaker.app(app);
    const draftOf = (parameters: object) =>
      sharedMaker.draft(
        app,
        "Ask",
        [intent("ask", "Ask", [city]), callToolNode(connection, parameters)],
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
      expect([...draft.errors, ...draft.warnings].map((problem) => problem.code)).toEqual([code]);
      await expect(sharedMaker.publish(draft.id)).rejects.toThrow(message);
    }
    // An unreachable server does not prevent publishing; it causes only a warning.
    await sharedMaker.call("PATCH", `/api/connections/${connection}`, {
      url: "http://127.0.0.1:1/mcp",
    });
    await sharedMaker.call("POST", `/api/connections/${connection}/check`, {}).catch(() => {});
    const published = await sharedMaker.publish((await draftOf({})).id);
    expect(published.warnings).toMatchObject([{ code: "connection_failed" }]);
  });
});
