/**
 * A server that echoes everything it gets. Nothing of it is stored, shown or logged: neither the
 * credentials of the connection, nor the tokens that the hub sends.
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

async function serveEchoes() {
  /** What the hub sent: identities, and callback tokens. */
  const sent = new Set([BEARER, KEY]);
  const served = await serveRaw(({ id, method, params, http }, response) => {
    const { headers } = http;
    sent.add(String(headers["x-mesh-token"]));
    const given = (params.arguments ?? {}) as { callbackToken?: string };
    if (given.callbackToken) sent.add(given.callbackToken);
    const said = JSON.stringify({ headers, params });
    if (method === "tools/list")
      return {
        tools: ["echo", "fail", "TRIGGER_LIST", "TRIGGER_CONFIGURE"].map((name) => ({
          name,
          description: said,
          inputSchema: { type: "object", description: said },
        })),
      };
    if (params.name === "TRIGGER_LIST")
      return {
        content: [],
        structuredContent: { triggers: [{ type: "rain", description: said }] },
      };
    const result = {
      isError: params.name !== "echo",
      content: [{ type: "text", text: said }],
      structuredContent: { headers, params },
    };
    const progressToken = (params._meta as { progressToken?: unknown } | undefined)?.progressToken;
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (message: object) =>
      response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
    if (progressToken !== undefined)
      send({
        method: "notifications/progress",
        params: { progressToken, progress: 1, message: said },
      });
    send({ id, result });
    response.end();
  });
  return { ...served, sent };
}

it.each<Backend>(["SQLite", "workerd"])(
  "stores, shows and logs nothing of what servers echo, on %s",
  async (backend) => {
    const api = await startApi(backend, { SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1" });
    const make = createFlowMaker(api.hub.url, ADMIN);
    const { url, sent } = await serveEchoes();
    const denied = await listen((request, response) => {
      sent.add(String(request.headers["x-mesh-token"]));
      response.writeHead(401).end(`wrong token: ${JSON.stringify(request.headers)}`);
    });
    const shown: string[] = [];
    const show = async (method: string, path: string, body?: unknown) => {
      const { text, json } = await api.call(method, path, body);
      shown.push(text);
      return json;
    };
    const add = async (name: string, to: string) =>
      show("POST", "/api/connections", { name, url: to, ...credentials });

    expect(await add("Denied", denied.url)).toMatchObject({
      status: "failed",
      error: expect.stringContaining("wrong token"),
    });
    const { id } = await add("Echo", url);
    const path = `/api/connections/${id}`;
    await show("GET", "/api/connections");
    expect((await show("GET", `${path}/tools`)).items).toHaveLength(4);
    expect((await show("GET", `${path}/triggers`)).items).toHaveLength(1);
    const called = await show("POST", `${path}/tools/echo`, { arguments: { city: "Rome" } });
    expect(called.structuredContent).toMatchObject({
      headers: { authorization: "Bearer •••", "x-api-key": "•••", "x-mesh-token": "•••" },
      params: { arguments: { city: "Rome" } },
    });

    await make.app("echoes");
    const nodes = ["echo", "fail"].map((tool) => ({
      id: tool,
      type: "CallTool",
      name: tool,
      parameters: { connection: id, tool, arguments: {} },
    }));
    const asked = await make.flow(
      "echoes",
      "Ask",
      [intent("ask", "Ask"), ...nodes, returns("end", "{{ echo }}")],
      [
        ["ask", "echo"],
        ["echo", "fail"],
        ["fail", "end"],
      ],
    );
    const run = await show("POST", `/api/flows/${asked.id}/runs`, { trigger: "ask", input: {} });
    await vi.waitFor(async () => {
      const { status, steps } = await show("GET", `/api/runs/${run.id}`);
      expect(status).toBe("failed");
      expect(JSON.stringify(steps)).toMatch(/"log":\[\{[^\]]*"1: /);
    }, WAIT);

    const rain = { source: id, type: "rain", params: {} };
    await make.flow(
      "echoes",
      "On rain",
      [{ id: "rain", type: "Event", name: "Rain", parameters: rain }, returns("end", "x")],
      [["rain", "end"]],
    );
    await vi.waitFor(async () => {
      const { items } = await show("GET", `${path}/subscriptions`);
      expect(items).toMatchObject([{ state: "failed", error: expect.stringContaining("•••") }]);
    }, WAIT);

    const { env } = api;
    for (const args of [["list"], ["list", "--json"], ["check"]]) {
      const { stdout, stderr } = await runCli(["connection", ...args], { env });
      shown.push(stdout, stderr);
    }
    expect(api.hub.output()).toContain("connection failed: The server answered HTTP 401");
    shown.push(api.hub.output());
    for (const file of readdirSync(env.SIGNALBOX_DATA ?? "", {
      recursive: true,
      withFileTypes: true,
    }))
      if (file.isFile()) shown.push(readFileSync(join(file.parentPath, file.name), "latin1"));

    expect([...sent].filter((secret) => secret.startsWith("sbcb_"))).not.toEqual([]);
    expect([...sent].filter((secret) => shown.some((text) => text.includes(secret)))).toEqual([]);
  },
);
