/** An agent that has only the tools of /mcp sets up automations from zero, on a real hub. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { ADMIN, type Api, type Backend, startApi } from "../support/api-client.ts";
import { deliver, issueOpened } from "../support/deliver.ts";
import { startFakeModelServer } from "../support/fake-model-server.ts";
import { serveSdk2 } from "../support/mcp-servers.ts";
import { WAIT } from "../support/timeouts.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests read results of every shape
type Result = any;

const TOOLS = [
  "AUTOMATION_CREATE",
  "AUTOMATION_LIST",
  "AUTOMATION_GET",
  "AUTOMATION_UPDATE",
  "AUTOMATION_DELETE",
  "AUTOMATION_TRIGGER_ADD",
  "AUTOMATION_TRIGGER_UPDATE",
  "AUTOMATION_TRIGGER_REMOVE",
  "AUTOMATION_TRIGGER_TEST",
  "AUTOMATION_RUN",
  "AUTOMATION_RUN_LIST",
  "AUTOMATION_RUN_GET",
  "CONNECTION_LIST",
  "CONNECTION_CHECK",
];

/** A hub with a secret key and a connection to a server with the tool `add_label`. */
async function startWorld(backend: Backend) {
  const labelled: Result[] = [];
  const tracker = await serveSdk2(
    {
      add_label(given) {
        labelled.push(given);
        return { ok: true };
      },
    },
    {
      described: [
        {
          name: "add_label",
          description: "Adds a label to an issue.",
          inputSchema: {
            type: "object",
            properties: { issue: { type: "number" }, label: { type: "string" } },
            required: ["issue", "label"],
          },
        },
      ],
    },
  );
  const model = await startFakeModelServer(({ tools, calls }) =>
    calls.length === 0
      ? { calls: [{ tool: tools[0] ?? "", arguments: { issue: 7, label: "weather" } }] }
      : { text: "Labelled as weather." },
  );
  onTestFinished(model.close);
  const api = await startApi(backend, { SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1" });
  await api.expect(201, "POST", "/api/connections", { name: "Tracker", url: tracker.url });
  await api.expect(204, "PUT", "/api/secrets/MODEL_KEY", { value: "sk-automation-story" });
  return { api, labelled, model, agent: await connect(api) };
}

interface Agent {
  names: string[];
  /** Calls a tool; throws the text of an error result. */
  use(tool: string, args?: object): Promise<Result>;
  /** The text of the error. */
  fail(tool: string, args?: object): Promise<string>;
}

async function connect({ hub }: Api, token = ADMIN, path = "/mcp"): Promise<Agent> {
  const client = new Client({ name: "scripted model", version: "1" });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${hub.url}${path}`), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  );
  onTestFinished(() => client.close());
  const { tools } = await client.listTools();
  const call = async (name: string, args: object = {}) => {
    const result = await client.callTool({ name, arguments: { ...args } });
    const [block] = result.content as { text: string }[];
    return { isError: result.isError === true, text: block?.text ?? "", result };
  };
  return {
    names: tools.map(({ name }) => name),
    async use(name, args) {
      const { isError, text, result } = await call(name, args);
      if (isError) throw new Error(`${name}: ${text}`);
      return result.structuredContent;
    },
    async fail(name, args) {
      const { isError, text } = await call(name, args);
      expect(isError, text).toBe(true);
      return text;
    },
  };
}

const agentOf = (baseUrl: string, connection?: string) => ({
  model: {
    provider: "anthropic",
    name: "fake",
    baseUrl,
    apiKey: "{{ secrets.MODEL_KEY }}",
  },
  instructions: "Label new issues by their topic.",
  tools: connection === undefined ? [] : [{ connection, tools: ["add_label"] }],
});
const onIssueOpened = {
  kind: "event",
  source: "github",
  type: "issues",
  params: { action: "opened" },
};

/**
 * A step of the scripted model: it sees the results of its former calls, as a model sees its
 * conversation, and decides the next call.
 */
type Decide = (seen: Result[]) => { tool: string; args?: object };

async function converse({ names, use }: Agent, script: readonly Decide[]): Promise<Result[]> {
  const seen: Result[] = [];
  for (const decide of script) {
    const { tool, args } = decide(seen);
    expect(names).toContain(tool);
    seen.push(await use(tool, args));
  }
  return seen;
}

describe.each<Backend>(["SQLite", "PostgreSQL", "workerd"])("automations on %s", (backend) => {
  it("an agent sets up 'label new issues' from zero, tests it, and sees it work", async () => {
    const { api, agent, model, labelled } = await startWorld(backend);
    // Something has happened before.
    expect((await deliver(api.hub.url, { body: JSON.stringify(issueOpened) })).status).toBe(202);
    const closed = JSON.stringify({ ...issueOpened, action: "closed" });
    expect((await deliver(api.hub.url, { body: closed })).status).toBe(202);

    const [, , , tested, , automation] = await converse(agent, [
      () => ({ tool: "CONNECTION_LIST" }),
      ([{ connections }]) => ({
        tool: "CONNECTION_CHECK",
        args: {
          connection: connections.find((one: Result) => one.tools.includes("add_label")).id,
        },
      }),
      () => ({ tool: "AUTOMATION_LIST" }),
      () => ({ tool: "AUTOMATION_TRIGGER_TEST", args: { trigger: onIssueOpened } }),
      ([, connection, { secrets }]) => {
        expect(secrets).toEqual(["MODEL_KEY"]);
        expect(connection).toMatchObject({ status: "ok", tools: [{ name: "add_label" }] });
        return {
          tool: "AUTOMATION_CREATE",
          args: { name: "Label new issues", ...agentOf(model.url, connection.id) },
        };
      },
      ([, , , , { id }]) => ({
        tool: "AUTOMATION_TRIGGER_ADD",
        args: { id, trigger: onIssueOpened },
      }),
      ([, , , , , { id, trigger_id }]) => ({
        tool: "AUTOMATION_TRIGGER_TEST",
        args: { id, trigger_id },
      }),
    ]);
    expect(tested).toMatchObject({
      tested: 2,
      matched: 1,
      events: [
        { matched: true, type: "issues" },
        { matched: false, reason: expect.stringContaining("action is") },
      ],
    });
    expect(automation).toMatchObject({
      app: "automations",
      is_published: true,
      errors: [],
      triggers: [{ kind: "event", is_active: true, config: { source: "github" } }],
    });
    expect(labelled).toEqual([]); // a test runs nothing

    expect((await deliver(api.hub.url)).status).toBe(202);
    const runs = () => agent.use("AUTOMATION_RUN_LIST", { id: automation.id });
    await expect
      .poll(async () => (await runs()).runs.map(({ status }: Result) => status), WAIT)
      .toEqual(["succeeded"]);
    expect(labelled).toEqual([{ issue: 7, label: "weather" }]);

    const [{ run_id, event_id, cause }] = (await runs()).runs;
    expect(cause).toBe("event");
    const run = await agent.use("AUTOMATION_RUN_GET", { run_id });
    expect(run.output).toMatchObject({ text: "Labelled as weather." });
    expect(run.steps.map(({ part }: Result) => part)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^#turn/), expect.stringMatching(/^#tool/)]),
    );
    const explained = await agent.use("explain_event", { event_id });
    expect(explained.triggers).toMatchObject([{ matched: true, run_id }]);

    // A past event can be replayed, and the automation can be changed, paused and deleted.
    await agent.use("replay_event", { event_id, flow: automation.id });
    await expect
      .poll(async () => (await runs()).runs.map(({ status }: Result) => status), WAIT)
      .toEqual(["succeeded", "succeeded"]);
    const { id, trigger_id } = automation;
    const renamed = await agent.use("AUTOMATION_UPDATE", { id, name: "Label issues" });
    expect(renamed).toMatchObject({ name: "Label issues", agent: automation.agent });
    const paused = await agent.use("AUTOMATION_TRIGGER_UPDATE", {
      id,
      trigger_id,
      changes: { isActive: false },
    });
    expect(paused.triggers).toMatchObject([
      { is_active: false, config: { params: { action: "opened" } } },
    ]);
    await agent.use("AUTOMATION_DELETE", { id });
    expect(await agent.use("AUTOMATION_LIST")).toMatchObject({ automations: [] });
  });
});

describe.each<Backend>(["SQLite", "workerd"])("the tools for automations, on %s", (backend) => {
  it("are listed and callable only with the scope admin", async () => {
    const api = await startApi(backend);
    expect((await connect(api)).names).toEqual(expect.arrayContaining(TOOLS));
    const token = await api.token("--scope", "inbox:read,inbox:write,flows:call");
    const reader = await connect(api, token);
    expect(reader.names).toContain("get_event");
    expect(reader.names.filter((name) => TOOLS.includes(name))).toEqual([]);
    for (const tool of TOOLS)
      expect(await reader.fail(tool)).toBe(
        `The token lacks the scope admin, which ${tool} requires.`,
      );
  });

  it("create a schedule and a tool, run them by hand, and remove a trigger", async () => {
    const { api, agent, model, labelled } = await startWorld(backend);
    const [connection] = (await agent.use("CONNECTION_LIST")).connections;
    const created = await agent.use("AUTOMATION_CREATE", {
      name: "Tidy up",
      ...agentOf(model.url, connection.id),
      triggers: [
        { kind: "schedule", cron: "0 8 * * 1-5", timeZone: "Europe/Berlin" },
        {
          kind: "tool",
          name: "Tidy now",
          toolDescription: "Tidies up the labels.",
          parameters: [{ name: "issue", type: "number" }],
        },
      ],
    });
    const [morning, now] = created.triggers;
    expect(new Date(morning.next_fire_at).getTime()).toBeGreaterThan(Date.now());
    const test = await agent.use("AUTOMATION_TRIGGER_TEST", {
      id: created.id,
      trigger_id: morning.trigger_id,
    });
    expect(test.next_fire_times).toHaveLength(5);
    expect(test.next_fire_times[0]).toBe(morning.next_fire_at);

    expect(await agent.fail("AUTOMATION_RUN", { id: created.id })).toContain(
      `trigger_id: is missing. Choose one of ${morning.trigger_id}`,
    );
    const run = await agent.use("AUTOMATION_RUN", {
      id: created.id,
      trigger_id: now.trigger_id,
      input: { issue: 7 },
    });
    expect(run).toMatchObject({ status: "succeeded", output: { text: "Labelled as weather." } });
    expect(labelled).toHaveLength(1);
    expect(
      await agent.fail("AUTOMATION_RUN", { id: created.id, trigger_id: now.trigger_id }),
    ).toContain("issue");
    expect((await connect(api, ADMIN, "/mcp/automations")).names).toEqual(["tidy_now"]);

    const removed = await agent.use("AUTOMATION_TRIGGER_REMOVE", {
      id: created.id,
      trigger_id: morning.trigger_id,
    });
    expect(removed.triggers.map(({ name }: Result) => name)).toEqual(["Tidy now"]);
    const flow = (await api.expect(200, "GET", `/api/flows/${created.id}`)).json;
    expect(flow.schedules).toEqual([]);
  });

  it("show what the server of a connection says to a trigger", async () => {
    const { agent, model } = await startWorld(backend);
    const [connection] = (await agent.use("CONNECTION_LIST")).connections;
    const { id } = await agent.use("AUTOMATION_CREATE", {
      name: "On storms",
      ...agentOf(model.url),
      triggers: [{ kind: "event", source: connection.id, type: "storm" }],
    });
    // This server offers no triggers.
    const triggers = async () => (await agent.use("AUTOMATION_GET", { id })).triggers;
    await expect.poll(async () => (await triggers())[0].state, WAIT).toBe("failed");
    expect((await triggers())[0].error).toEqual(expect.stringMatching(/./));
  });

  it("save drafts, which run only after they are published", async () => {
    const { agent, model } = await startWorld(backend);
    const draft = await agent.use("AUTOMATION_CREATE", {
      name: "Draft",
      ...agentOf(model.url),
      triggers: [onIssueOpened],
      draft: true,
    });
    expect(draft).toMatchObject({ version: null, is_published: false });
    expect(await agent.fail("AUTOMATION_RUN", { id: draft.id })).toContain(
      "publish it with AUTOMATION_UPDATE",
    );
    const published = await agent.use("AUTOMATION_UPDATE", { id: draft.id });
    expect(published).toMatchObject({ version: 1, is_published: true });
    const changed = await agent.use("AUTOMATION_UPDATE", {
      id: draft.id,
      instructions: "Do something else.",
      prompt: "Please.",
      draft: true,
    });
    expect(changed).toMatchObject({
      version: 1,
      is_published: false,
      agent: { instructions: "Do something else.", prompt: "Please.", model: { name: "fake" } },
    });
    const { agent: last } = await agent.use("AUTOMATION_UPDATE", { id: draft.id, prompt: null });
    const { prompt: _, ...others } = changed.agent;
    expect(last).toEqual(others);
  });

  it("reject mistakes with the field and the fix, and create nothing", async () => {
    const { api, agent, model } = await startWorld(backend);
    const create = (given: object) =>
      agent.fail("AUTOMATION_CREATE", { name: "X", ...agentOf(model.url), ...given });
    const trigger = (given: object) => create({ triggers: [given] });
    expect(await create({ instructions: " " })).toContain("instructions: must not be empty");
    expect(await create({ instructions: "{{ trigger.data }}" })).toContain("untrusted");
    expect(await create({ limits: { turns: 0 } })).toContain("limits.turns: ");
    expect(await create({ model: { provider: "acme", name: "m" } })).toContain("model.provider: ");
    expect(
      await create({
        model: { ...agentOf(model.url).model, apiKey: "{{ secrets.NOPE }}" },
      }),
    ).toContain("NOPE");
    const plain = { ...agentOf(model.url).model, apiKey: "sk-plain-key" };
    for (const draft of [false, true]) {
      const refused = await create({ model: plain, draft });
      expect(refused).toContain("model.apiKey: must be one reference to a secret");
      expect(refused).toContain("PUT /api/secrets/");
      expect(refused).not.toContain("sk-plain-key");
    }
    expect(await create({ app: "nowhere" })).toBe("app: There is no app nowhere.");
    expect(await create({ trigger: {} })).toContain("trigger: unexpected argument");
    expect(await trigger({ kind: "cron" })).toContain("triggers[0]");
    expect(await trigger({ kind: "event" })).toContain("triggers[0].source: must name a source");
    expect(await trigger({ kind: "schedule", cron: "* * * * * *" })).toContain(
      "triggers[0].cron: fires more than once a minute",
    );
    expect(await trigger({ kind: "schedule", cron: "0 0 30 2 *" })).toContain("never fires");
    expect(await trigger({ kind: "tool" })).toContain("triggers[0].toolDescription: ");
    expect(await trigger({ ...onIssueOpened, filter: "data." })).toContain("filter");
    expect((await agent.use("AUTOMATION_LIST")).automations).toEqual([]);

    for (const tool of ["AUTOMATION_GET", "AUTOMATION_DELETE", "AUTOMATION_RUN"])
      expect(await agent.fail(tool, { id: "nope" })).toContain("There is no flow nope");
    expect(await agent.fail("AUTOMATION_RUN_GET", { run_id: "nope" })).toBe(
      "run_id: There is no run nope.",
    );
    expect(await agent.fail("CONNECTION_CHECK", { connection: "nope" })).toBe(
      "connection: There is no connection nope.",
    );
    expect(await agent.fail("AUTOMATION_TRIGGER_TEST", {})).toContain("id: is missing");

    await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
    const flow = (await api.expect(201, "POST", "/api/apps/desk/flows", { name: "Plain" })).json;
    expect(await agent.fail("AUTOMATION_GET", { id: flow.id })).toContain("is not an automation");
    expect(await agent.fail("AUTOMATION_DELETE", { id: flow.id })).toContain("not an automation");
    await api.expect(200, "GET", `/api/flows/${flow.id}`);

    const { id } = await agent.use("AUTOMATION_CREATE", { name: "X", ...agentOf(model.url) });
    const added = await agent.use("AUTOMATION_TRIGGER_ADD", { id, trigger: onIssueOpened });
    expect(
      await agent.fail("AUTOMATION_TRIGGER_UPDATE", {
        id,
        trigger_id: added.trigger_id,
        changes: { source: null },
      }),
    ).toContain("changes.source: must name a source");
    expect(await agent.fail("AUTOMATION_TRIGGER_REMOVE", { id, trigger_id: "nope" })).toContain(
      `has no trigger nope. Choose one of ${added.trigger_id}`,
    );
    expect((await agent.use("AUTOMATION_GET", { id })).triggers).toHaveLength(1);
  });

  it("keep tenants apart", async () => {
    const api = await startApi(backend, { SIGNALBOX_TENANCY: "github" });
    const agents = await Promise.all(
      ["1", "2"].map(async (tenant) =>
        connect(api, await api.token("--scope", "admin", "--tenant", tenant)),
      ),
    );
    const [one, two] = agents as [Agent, Agent];
    const agent = { model: { provider: "openai", name: "m" }, instructions: "Help." };
    const { id } = await one.use("AUTOMATION_CREATE", {
      name: "Mine",
      ...agent,
      triggers: [onIssueOpened],
    });
    expect((await one.use("AUTOMATION_LIST")).automations).toHaveLength(1);
    expect((await two.use("AUTOMATION_LIST")).automations).toEqual([]);
    for (const tool of ["AUTOMATION_GET", "AUTOMATION_UPDATE", "AUTOMATION_DELETE"])
      expect(await two.fail(tool, { id })).toContain(`There is no flow ${id}`);
    expect(await two.fail("AUTOMATION_TRIGGER_ADD", { id, trigger: onIssueOpened })).toContain(
      "There is no flow",
    );
    const both = await connect(api, await api.token("--scope", "admin", "--tenant", "1,2"));
    expect(await both.fail("AUTOMATION_LIST")).toContain("tenant: is missing");
  });
});
