/** MCP clients with the operator's token, which is valid for all tenants of a hub with many. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { ADMIN, type Backend, startApi } from "../support/api-client.ts";
import { deliver, issueOpened } from "../support/deliver.ts";

type ClientOptions = ConstructorParameters<typeof Client>[1];

const eras: [string, ClientOptions][] = [
  ["2026-07-28", { versionNegotiation: { mode: { pin: "2026-07-28" } } }],
  ["2025-11-25", { supportedProtocolVersions: ["2025-11-25"] }],
];
const CHOICE =
  /valid for all tenants: name one with \?tenant=ID.* Tenants: 100 \(acme\), 200 \(umbrella\)\./;
const TITLE = "A secret of the tenant";

async function startHub(backend: Backend) {
  const api = await startApi(backend, { SIGNALBOX_TENANCY: "github" });
  const { url } = api.hub;
  const ids: string[] = [];
  for (const [id, login] of [
    [100, "acme"],
    [200, "umbrella"],
  ] as const) {
    const body = JSON.stringify({
      ...issueOpened,
      issue: { ...issueOpened.issue, title: `${TITLE} ${login}` },
      repository: { ...issueOpened.repository, owner: { id, login } },
      installation: { id: id + 1 },
    });
    const delivered = await deliver(url, { body });
    ids.push(((await delivered.json()) as { id: string }).id);
  }
  const connect = async (options: ClientOptions, path = "/mcp", headers = {}) => {
    const client = new Client({ name: "operator", version: "1" }, options);
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${url}${path}`), {
        requestInit: { headers: { authorization: `Bearer ${ADMIN}`, ...headers } },
      }),
    );
    onTestFinished(() => client.close());
    return client;
  };
  return { api, ids: ids as [string, string], connect };
}

describe.each<Backend>(["SQLite", "workerd"])("on %s, an operator's client", (backend) => {
  it.each(eras)(
    "of %s connects without a tenant, and gets the list of tenants",
    async (_, options) => {
      const { api, ids, connect } = await startHub(backend);
      const client = await connect(options);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain("AUTOMATION_LIST");
      const answers: string[] = [];
      for (const { name } of tools) {
        const { isError, content } = await client.callTool({
          name,
          arguments: { event_id: ids[0], id: "x" },
        });
        const [block] = content as { text: string }[];
        expect([name, isError]).toEqual([name, true]);
        answers.push(block?.text ?? "");
      }
      expect((await client.listResources()).resources).toHaveLength(1);
      expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(1);
      expect((await client.listPrompts()).prompts).toHaveLength(1);
      const errorOf = (request: Promise<unknown>) =>
        request.then(
          (result) => `no error: ${JSON.stringify(result)}`,
          (error: Error) => error.message,
        );
      const [inboxUri, eventUri] = ["signalbox://inbox", `signalbox://events/${ids[0]}`];
      for (const uri of [inboxUri, eventUri]) {
        answers.push(await errorOf(client.readResource({ uri })));
        answers.push(
          await errorOf(
            client.getNegotiatedProtocolVersion() === "2026-07-28"
              ? client.listen({ resourceSubscriptions: [uri] })
              : client.subscribeResource({ uri }),
          ),
        );
      }
      const events = { name: "github.issues", arguments: {}, cursor: "0" };
      const delivery = {
        mode: "webhook",
        url: "https://example.com/hook",
        secret: "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz",
      };
      for (const [method, params] of [
        ["events/list", {}],
        ["events/poll", events],
        ["events/stream", events],
        ["events/subscribe", { ...events, delivery }],
        ["events/unsubscribe", { ...events, delivery: { url: delivery.url } }],
      ] as const)
        answers.push(
          await errorOf(client.request({ method, params } as never, z.looseObject({}) as never)),
        );
      for (const answer of answers) {
        expect(answer).toMatch(CHOICE);
        expect(answer).not.toContain(TITLE);
      }
      for (const path of ["/events", "/pending-events", "/mcp/shop", "/api/apps"]) {
        const { status, json } = await api.call("GET", path);
        expect([path, status, json.code]).toEqual([path, 403, "no_tenant"]);
        expect(json.detail).toMatch(CHOICE);
      }
    },
  );

  it.each(eras)("of %s gets the data of the tenant that it names", async (_, options) => {
    const { ids, connect } = await startHub(backend);
    for (const [path, headers, id] of [
      ["/mcp?tenant=100", {}, ids[0]],
      ["/mcp?tenant=200&tools=inbox", {}, ids[1]],
      ["/mcp", { "x-signalbox-tenant": "200" }, ids[1]],
    ] as const) {
      const client = await connect(options, path, headers);
      const listed = await client.callTool({ name: "list_pending_events", arguments: {} });
      expect(listed.structuredContent).toMatchObject({ events: [{ id }], next_cursor: null });
    }
  });
});

it("the answer lists 20 of many tenants, and where the others are", async () => {
  const { api, connect } = await startHub("SQLite");
  for (let index = 0; index < 25; index += 1)
    await deliver(api.hub.url, {
      body: JSON.stringify({
        installation: { id: 1_000 + index },
        repository: { owner: { id: 300 + index, login: `account-${index}` } },
      }),
    });
  const client = await connect({});
  const { content } = await client.callTool({ name: "get_pending_status", arguments: {} });
  const [block] = content as { text: string }[];
  expect(block?.text).toMatch(/317 \(account-17\), and more: GET \/api\/tenants lists all\.$/);
});
