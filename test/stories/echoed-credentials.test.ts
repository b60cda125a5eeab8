/**
 * An MCP server returns all headers and parameters that it gets. The hub neither stores, returns nor
 * logs the credentials of the connection and the tokens that it has sent.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { ADMIN, type Backend, startApi } from "../support/api-client.ts";
import { createFlowMaker, intent, returns } from "../support/flow-maker.ts";
import { runCli } from "../support/hub-process.ts";
import { listen, serveRaw } from "../support/mcp-servers.ts";
import { WAIT } from "../support/timeouts.ts";

const BEARER = "bearer-of-the-connection";
const KEY = "key-of-the-connection";
const credentials = {
  auth: { type: "bearer", token: BEARER },
  headers: { "X-Api-Key": KEY },
};

async function startEchoServer() {
  /** The credentials of the connection, and the identity and callback tokens that the hub has sent. */
  const secrets = new Set([BEARER, KEY]);
  const served = await serveRaw(({ id, method, params, http }, response) => {
    const { headers } = http;
    secrets.add(String(headers["x-mesh-token"]));
    const { callbackToken } = (params.arguments ?? {}) as { callbackToken?: string };
    if (callbackToken) secrets.add(callbackToken);
    const echo = JSON.stringify({ headers, params });
    if (method === "tools/list")
      return {
        tools: ["echo", "fail", "TRIGGER_LIST", "TRIGGER_CONFIGURE"].map((name) => ({
          name,
          description: echo,
          inputSchema: { type: "object", description: echo },
        })),
      };
    if (params.name === "TRIGGER_LIST")
      return {
        content: [],
        structuredContent: { triggers: [{ type: "rain", description: echo }] },
      };
    const result = {
      isError: params.name !== "echo",
      content: [{ type: "text", text: echo }],
      structuredContent: { headers, params },
    };
    const progressToken = (params._meta as { progressToken?: unknown } | undefined)?.progressToken;
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (message: object) =>
      response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
    if (progressToken !== undefined)
      send({
        method: "notifications/progress",
        params: { progressToken, progress: 1, message: echo },
      });
    send({ id, result });
    response.end();
  });
  return { ...served, secrets };
}

it.each<Backend>(["SQLite", "workerd"])(
  "a hub stores, returns and logs no credential that a server echoes, on %s",
  async (backend) => {
    const api = await startApi(backend, { SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1" });
    const maker = createFlowMaker(api.hub.url, ADMIN);
    const { url, secrets } = await startEchoServer();
    const denied = await listen((request, response) => {
      secrets.add(String(request.headers["x-mesh-token"]));
      response.writeHead(401).end(`wrong token: ${JSON.stringify(request.headers)}`);
    });
    /** All texts that the hub has returned, logged or stored. */
    const shown: string[] = [];
    /** Calls the API, and records the text of the response in `shown`. */
    const callAndRecord = async (method: string, path: string, body?: unknown) => {
      const { text, json } = await api.call(method, path, body);
      shown.push(text);
      return json;
    };
    const addConnection = async (name: string, serverUrl: string) =>
      callAndRecord("POST", "/api/connections", { name, url: serverUrl, ...credentials });

    expect(await addConnection("Denied", denied.url)).toMatchObject({
      status: "failed",
      error: expect.stringContaining("wrong token"),
    });
    const { id } = await addConnection("Echo", url);
    const path = `/api/connections/${id}`;
    await callAndRecord("GET", "/api/connections");
    expect((await callAndRecord("GET", `${path}/tools`)).items).toHaveLength(4);
    expect((await callAndRecord("GET", `${path}/triggers`)).items).toHaveLength(1);
    const called = await callAndRecord("POST", `${path}/tools/echo`, {
      arguments: { city: "Rome" },
    });
    expect(called.structuredContent).toMatchObject({
      headers: { authorization: "Bearer •••", "x-api-key": "•••", "x-mesh-token": "•••" },
      params: { arguments: { city: "Rome" } },
    });

    await maker.app("echoes");
    const nodes = ["echo", "fail"].map((tool) => ({
      id: tool,
      type: "CallTool",
      name: tool,
      parameters: { connection: id, tool, arguments: {} },
    }));
    const flow = await maker.flow(
      "echoes",
      "Ask",
      [intent("ask", "Ask"), ...nodes, returns("end", "{{ echo }}")],
      [
        ["ask", "echo"],
        ["echo", "fail"],
        ["fail", "end"],
      ],
    );
    const run = await callAndRecord("POST", `/api/flows/${flow.id}/runs`, {
      trigger: "ask",
      input: {},
    });
    await vi.waitFor(async () => {
      const { status, steps } = await callAndRecord("GET", `/api/runs/${run.id}`);
      expect(status).toBe("failed");
      expect(JSON.stringify(steps)).toMatch(/"log":\[\{[^\]]*"1: /);
    }, WAIT);

    const rain = { source: id, type: "rain", params: {} };
    await maker.flow(
      "echoes",
      "On rain",
      [{ id: "rain", type: "Event", name: "Rain", parameters: rain }, returns("end", "x")],
      [["rain", "end"]],
    );
    await vi.waitFor(async () => {
      const { items } = await callAndRecord("GET", `${path}/subscriptions`);
      expect(items).toMatchObject([{ state: "failed", error: expect.stringContaining("•••") }]);
    }, WAIT);

    const { env } = api;
    for (const args of [["list"], ["list", "--json"], ["check"]]) {
      const { stdout, stderr } = await runCli(["connection", ...args], { env });
      shown.push(stdout, stderr);
    }
    await api.hub.stop();
    expect(api.hub.output()).toContain("connection failed: The server answered HTTP 401");
    shown.push(api.hub.output());
    for (const file of readdirSync(env.SIGNALBOX_DATA ?? "", {
      recursive: true,
      withFileTypes: true,
    }))
      if (file.isFile()) shown.push(readFileSync(join(file.parentPath, file.name), "latin1"));

    expect([...secrets].filter((secret) => secret.startsWith("sbcb_"))).not.toEqual([]);
    expect([...secrets].filter((secret) => shown.some((text) => text.includes(secret)))).toEqual(
      [],
    );
  },
);
