/** What the tools of /mcp cost the context of a model: the list of tools, and the results of lists. */
import { expect, it } from "vitest";
import { ADMIN, type Api, startApi } from "../support/api-client.ts";
import { deliver, issueOpened } from "../support/deliver.ts";
import { serveSdk2 } from "../support/mcp-servers.ts";

const HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};
const ERAS = ["2026-07-28", "2025-11-25"] as const;

/** Sends one request without an SDK, and returns the result and its size. */
async function request(
  { hub }: Api,
  {
    era = ERAS[0],
    path = "/mcp",
    token = ADMIN,
    method,
    params = {},
  }: {
    era?: (typeof ERAS)[number];
    path?: string;
    token?: string;
    method: string;
    params?: Record<string, unknown>;
  },
  // biome-ignore lint/suspicious/noExplicitAny: tests read results of every shape
): Promise<{ bytes: number; result: any; error: any; status: number }> {
  const isModern = era === ERAS[0];
  const response = await fetch(`${hub.url}${path}`, {
    method: "POST",
    headers: {
      ...HEADERS,
      authorization: `Bearer ${token}`,
      "mcp-protocol-version": era,
      ...(isModern && { "mcp-method": method }),
      ...(isModern && typeof params.name === "string" && { "mcp-name": params.name }),
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method,
      params: {
        ...params,
        ...(isModern && {
          _meta: {
            "io.modelcontextprotocol/protocolVersion": era,
            "io.modelcontextprotocol/clientCapabilities": {},
          },
        }),
      },
    }),
  });
  const text = await response.text();
  const { result, error } = JSON.parse(text.replace(/^[^{]*/, "").trim());
  const { byteLength } = new TextEncoder().encode(JSON.stringify(result ?? null));
  return { bytes: byteLength, result, error, status: response.status };
}

const namesOf = ({ tools }: { tools: { name: string }[] }) => tools.map(({ name }) => name);

it.each(ERAS)("the list of tools is short for clients of %s", async (era) => {
  const api = await startApi();
  const list = (token: string, path?: string) =>
    request(api, { era, token, method: "tools/list", ...(path && { path }) });
  const inbox = await list(await api.token());
  expect(namesOf(inbox.result)).toContain("replay_event");
  expect(inbox.bytes).toBeLessThanOrEqual(12_000);
  const admin = await list(ADMIN);
  expect(namesOf(admin.result)).toContain("AUTOMATION_CREATE");
  expect(admin.bytes).toBeLessThanOrEqual(25_000);
  const narrowed = await list(ADMIN, "/mcp?tools=inbox");
  expect(namesOf(narrowed.result)).toEqual(namesOf(inbox.result));
  const hidden = { name: "AUTOMATION_LIST", arguments: {} };
  const path = "/mcp?tools=inbox";
  const call = await request(api, { era, path, method: "tools/call", params: hidden });
  expect(call.error.message).toMatch(
    /There is no tool AUTOMATION_LIST at a URL with \?tools=inbox/,
  );
  const unknown = await fetch(`${api.hub.url}/mcp?tools=all`, {
    method: "POST",
    headers: { ...HEADERS, authorization: `Bearer ${ADMIN}` },
    body: "{}",
  });
  expect([unknown.status, await unknown.json()]).toMatchObject([
    400,
    { detail: expect.stringContaining("?tools=inbox") },
  ]);
  // Schemas have no references: many models do not resolve them.
  expect(JSON.stringify(admin.result)).not.toContain("$ref");
});

it("the result of each tool that returns a list has at most 40 KB", async () => {
  const api = await startApi("SQLite", { SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1" });
  const body = "A long text. ".repeat(700);
  const payload = { ...issueOpened, issue: { ...issueOpened.issue, body } };
  const sent = Array.from({ length: 60 }, (_, index) =>
    deliver(api.hub.url, { body: JSON.stringify({ ...payload, index }) }),
  );
  const [first] = (await Promise.all(sent)) as [Response];
  const { id: event_id } = (await first.json()) as { id: string };
  const definitions = Array.from({ length: 100 }, (_, index) => ({
    name: `tool_${index}`,
    description: "A description. ".repeat(30),
    inputSchema: { type: "object" as const, properties: { text: { type: "string" } } },
  }));
  const tools = Object.fromEntries(definitions.map(({ name }) => [name, () => null]));
  const server = await serveSdk2(tools, { definitions });
  const { json: connection } = await api.expect(201, "POST", "/api/connections", {
    name: "Large",
    url: server.url,
  });
  await api.expect(201, "POST", "/api/apps", { slug: "many", name: "Many" });
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const called = await request(api, {
      method: "tools/call",
      params: { name, arguments: args },
    });
    expect([name, called.result?.isError ?? called.error]).toEqual([name, undefined]);
    return called;
  };
  const model = { provider: "openai", name: "m", baseUrl: "http://127.0.0.1:9" };
  for (let index = 0; index < 60; index += 1)
    await call("AUTOMATION_CREATE", {
      name: `Automation ${index}`,
      description: "A description. ".repeat(200),
      model,
      instructions: "Do it.",
      triggers: [{ kind: "event", source: "github", type: `type-${index}` }],
    });

  const max = { limit: 100 };
  const lists: Record<string, object> = {
    get_pending_status: {},
    list_pending_events: max,
    get_webhook_events: max,
    search_events: max,
    explain_event: { event_id },
    AUTOMATION_LIST: {},
    AUTOMATION_RUN_LIST: {},
    AUTOMATION_TRIGGER_TEST: { trigger: { kind: "event", source: "github", type: "issues" } },
    CONNECTION_LIST: {},
    CONNECTION_CHECK: { connection: connection.id },
    claim_events: max,
  };
  const hasMore: string[] = [];
  for (const [name, args] of Object.entries(lists)) {
    const { bytes, result } = await call(name, { ...args });
    expect([name, bytes <= 40_000, bytes]).toEqual([name, true, bytes]);
    if (result.structuredContent.next_cursor) hasMore.push(name);
  }
  expect(hasMore).toEqual([
    "list_pending_events",
    "get_webhook_events",
    "search_events",
    "AUTOMATION_LIST",
    "CONNECTION_CHECK",
  ]);
  const { result } = await request(api, { method: "tools/list" });
  const budgeted = result.tools.filter(
    ({ inputSchema }: { inputSchema: { properties: object } }) =>
      "max_bytes" in inputSchema.properties,
  );
  // These either limit one payload or one run by themselves, or have been called above.
  const others = ["get_event", "replay_event", "AUTOMATION_RUN_GET"];
  expect(namesOf({ tools: budgeted }).toSorted()).toEqual(
    [...Object.keys(lists), ...others].toSorted(),
  );
});
