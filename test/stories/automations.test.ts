/** An agent sets up automations on a real hub, only with the tools of /mcp. */
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

/** Starts a hub that has a secret and a connection to an MCP server with the tool `add_label`. */
async function startHubWithTracker(backend: Backend) {
  const labelCalls: Result[] = [];
  const tracker = await serveSdk2(
    {
      add_label(args) {
        labelCalls.push(args);
        return { ok: true };
      },
    },
    {
      definitions: [
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
  return { api, labelCalls, model, agent: await connect(api) };
}

interface Agent {
  toolNames: string[];
  /** Calls a tool and returns its result. Throws if the result is an error. */
  callTool(tool: string, args?: object): Promise<Result>;
  /** Calls a tool, expects an error result, and returns its text. */
  expectError(tool: string, args?: object): Promise<string>;
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
    toolNames: tools.map(({ name }) => name),
    async callTool(name, args) {
      const { isError, text, result } = await call(name, args);
      if (isError) throw new Error(`${name}: ${text}`);
      return result.structuredContent;
    },
    async expectError(name, args) {
      const { isError, text } = await call(name, args);
      expect(isError, text).toBe(true);
      return text;
    },
  };
}

/** The arguments of AUTOMATION_CREATE that define the agent. */
const agentArguments = (baseUrl: string, connection?: string) => ({
  model: {
    provider: "anthropic",
    name: "fake",
    baseUrl,
    apiKey: "{{ secrets.MODEL_KEY }}",
  },
  instructions: "Label new issues by their topic.",
  tools: connection === undefined ? [] : [{ connection, tools: ["add_label"] }],
});
const issueOpenedTrigger = {
  kind: "event",
  source: "github",
  type: "issues",
  params: { action: "opened" },
};

/**
 * A step of the scripted model. It gets the results of all earlier calls, as a model sees its
 * conversation, and returns the next call.
 */
type ScriptStep = (results: Result[]) => { tool: string; args?: object };

/** Makes the calls of the script, and returns their results. */
async function runScript(
  { toolNames, callTool }: Agent,
  script: readonly ScriptStep[],
): Promise<Result[]> {
  const results: Result[] = [];
  for (const nextCall of script) {
    const { tool, args } = nextCall(results);
    expect(toolNames).toContain(tool);
    results.push(await callTool(tool, args));
  }
  return results;
}

describe.each<Backend>(["SQLite", "PostgreSQL", "workerd"])("automations on %s", (backend) => {
  it("an agent creates an automation, tests its trigger, and reads the run that an event started", async () => {
    const { api, agent, model, labelCalls } = await startHubWithTracker(backend);
    // The trigger is tested with these two stored events.
    expect((await deliver(api.hub.url, { body: JSON.stringify(issueOpened) })).status).toBe(202);
    const closed = JSON.stringify({ ...issueOpened, action: "closed" });
    expect((await deliver(api.hub.url, { body: closed })).status).toBe(202);

    const [, , , tested, , automation] = await runScript(agent, [
      () => ({ tool: "CONNECTION_LIST" }),
      ([{ connections }]) => ({
        tool: "CONNECTION_CHECK",
        args: {
          connection: connections.find((connection: Result) =>
            connection.tools.includes("add_label"),
          ).id,
        },
      }),
      () => ({ tool: "AUTOMATION_LIST" }),
      () => ({ tool: "AUTOMATION_TRIGGER_TEST", args: { trigger: issueOpenedTrigger } }),
      ([, connection, { secrets }]) => {
        expect(secrets).toEqual(["MODEL_KEY"]);
        expect(connection).toMatchObject({ status: "ok", tools: [{ name: "add_label" }] });
        return {
          tool: "AUTOMATION_CREATE",
          args: { name: "Label new issues", ...agentArguments(model.url, connection.id) },
        };
      },
      ([, , , , { id }]) => ({
        tool: "AUTOMATION_TRIGGER_ADD",
        args: { id, trigger: issueOpenedTrigger },
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
    expect(labelCalls).toEqual([]); // testing a trigger starts no run

    expect((await deliver(api.hub.url)).status).toBe(202);
    const listRuns = () => agent.callTool("AUTOMATION_RUN_LIST", { id: automation.id });
    await expect
      .poll(async () => (await listRuns()).runs.map(({ status }: Result) => status), WAIT)
      .toEqual(["succeeded"]);
    expect(labelCalls).toEqual([{ issue: 7, label: "weather" }]);

    const [{ run_id, event_id, cause }] = (await listRuns()).runs;
    expect(cause).toBe("event");
    const run = await agent.callTool("AUTOMATION_RUN_GET", { run_id });
    expect(run.output).toMatchObject({ text: "Labelled as weather." });
    expect(run.steps.map(({ part }: Result) => part)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^#turn/), expect.stringMatching(/^#tool/)]),
    );
    const explained = await agent.callTool("explain_event", { event_id });
    expect(explained.triggers).toMatchObject([{ matched: true, run_id }]);

    // A past event can be replayed, and the automation can be changed, paused and deleted.
    await agent.callTool("replay_event", { event_id, flow: automation.id });
    await expect
      .poll(async () => (await listRuns()).runs.map(({ status }: Result) => status), WAIT)
      .toEqual(["succeeded", "succeeded"]);
    const { id, trigger_id } = automation;
    const renamed = await agent.callTool("AUTOMATION_UPDATE", { id, name: "Label issues" });
    expect(renamed).toMatchObject({ name: "Label issues", agent: automation.agent });
    const paused = await agent.callTool("AUTOMATION_TRIGGER_UPDATE", {
      id,
      trigger_id,
      changes: { isActive: false },
    });
    expect(paused.triggers).toMatchObject([
      { is_active: false, config: { params: { action: "opened" } } },
    ]);
    await agent.callTool("AUTOMATION_DELETE", { id });
    expect(await agent.callTool("AUTOMATION_LIST")).toMatchObject({ automations: [] });
  });
});

describe.each<Backend>(["SQLite", "workerd"])("the tools for automations, on %s", (backend) => {
  it("are listed and callable only with the scope admin", async () => {
    const api = await startApi(backend);
    expect((await connect(api)).toolNames).toEqual(expect.arrayContaining(TOOLS));
    const token = await api.token("--scope", "inbox:read,inbox:write,flows:call");
    const reader = await connect(api, token);
    expect(reader.toolNames).toContain("get_event");
    expect(reader.toolNames.filter((name) => TOOLS.includes(name))).toEqual([]);
    for (const tool of TOOLS)
      expect(await reader.expectError(tool)).toBe(
        `The token lacks the scope admin, which ${tool} requires.`,
      );
  });

  it("create an automation with a schedule and a tool, start a run, and remove a trigger", async () => {
    const { api, agent, model, labelCalls } = await startHubWithTracker(backend);
    const [connection] = (await agent.callTool("CONNECTION_LIST")).connections;
    const created = await agent.callTool("AUTOMATION_CREATE", {
      name: "Tidy up",
      ...agentArguments(model.url, connection.id),
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
    const [schedule, tool] = created.triggers;
    expect(new Date(schedule.next_fire_at).getTime()).toBeGreaterThan(Date.now());
    const test = await agent.callTool("AUTOMATION_TRIGGER_TEST", {
      id: created.id,
      trigger_id: schedule.trigger_id,
    });
    expect(test.next_fire_times).toHaveLength(5);
    expect(test.next_fire_times[0]).toBe(schedule.next_fire_at);

    expect(await agent.expectError("AUTOMATION_RUN", { id: created.id })).toContain(
      `trigger_id: is missing. Choose one of ${schedule.trigger_id}`,
    );
    const run = await agent.callTool("AUTOMATION_RUN", {
      id: created.id,
      trigger_id: tool.trigger_id,
      input: { issue: 7 },
    });
    expect(run).toMatchObject({ status: "succeeded", output: { text: "Labelled as weather." } });
    expect(labelCalls).toHaveLength(1);
    expect(
      await agent.expectError("AUTOMATION_RUN", { id: created.id, trigger_id: tool.trigger_id }),
    ).toContain("issue");
    expect((await connect(api, ADMIN, "/mcp/automations")).toolNames).toEqual(["tidy_now"]);

    const removed = await agent.callTool("AUTOMATION_TRIGGER_REMOVE", {
      id: created.id,
      trigger_id: schedule.trigger_id,
    });
    expect(removed.triggers.map(({ name }: Result) => name)).toEqual(["Tidy now"]);
    const flow = (await api.expect(200, "GET", `/api/flows/${created.id}`)).json;
    expect(flow.schedules).toEqual([]);
  });

  it("show the error of a trigger whose connection does not offer it", async () => {
    const { agent, model } = await startHubWithTracker(backend);
    const [connection] = (await agent.callTool("CONNECTION_LIST")).connections;
    const { id } = await agent.callTool("AUTOMATION_CREATE", {
      name: "On storms",
      ...agentArguments(model.url),
      triggers: [{ kind: "event", source: connection.id, type: "storm" }],
    });
    const get = () => agent.callTool("AUTOMATION_GET", { id });
    await expect.poll(async () => (await get()).triggers[0].state, WAIT).toBe("failed");
    const { triggers, warnings } = await get();
    expect(triggers[0].error).toEqual(expect.stringMatching(/./));
    expect(warnings).toContainEqual(
      expect.stringContaining(
        `the subscription has failed, so events do not arrive; the hub retries: ${triggers[0].error}`,
      ),
    );
  });

  it("save drafts, which run only after they are published", async () => {
    const { agent, model } = await startHubWithTracker(backend);
    const draft = await agent.callTool("AUTOMATION_CREATE", {
      name: "Draft",
      ...agentArguments(model.url),
      triggers: [issueOpenedTrigger],
      draft: true,
    });
    expect(draft).toMatchObject({ version: null, is_published: false });
    expect(await agent.expectError("AUTOMATION_RUN", { id: draft.id })).toContain(
      "publish it with AUTOMATION_UPDATE",
    );
    const published = await agent.callTool("AUTOMATION_UPDATE", { id: draft.id });
    expect(published).toMatchObject({ version: 1, is_published: true });
    const changed = await agent.callTool("AUTOMATION_UPDATE", {
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
    const { agent: withoutPrompt } = await agent.callTool("AUTOMATION_UPDATE", {
      id: draft.id,
      prompt: null,
    });
    const { prompt: _, ...otherFields } = changed.agent;
    expect(withoutPrompt).toEqual(otherFields);
  });

  it("reject invalid arguments with an error that names the field, and create nothing", async () => {
    const { api, agent, model } = await startHubWithTracker(backend);
    const createInvalid = (args: object) =>
      agent.expectError("AUTOMATION_CREATE", { name: "X", ...agentArguments(model.url), ...args });
    const createWithTrigger = (trigger: object) => createInvalid({ triggers: [trigger] });
    expect(await createInvalid({ instructions: " " })).toContain("instructions: must not be empty");
    expect(await createInvalid({ instructions: "{{ trigger.data }}" })).toContain("untrusted");
    expect(await createInvalid({ limits: { turns: 0 } })).toContain("limits.turns: ");
    expect(await createInvalid({ model: { provider: "acme", name: "m" } })).toContain(
      "model.provider: ",
    );
    expect(
      await createInvalid({
        model: { ...agentArguments(model.url).model, apiKey: "{{ secrets.NOPE }}" },
      }),
    ).toMatch(/^model\.apiKey: The flow cannot run yet: .*NOPE/);
    const plainKeyModel = { ...agentArguments(model.url).model, apiKey: "sk-plain-key" };
    for (const draft of [false, true]) {
      const error = await createInvalid({ model: plainKeyModel, draft });
      expect(error).toMatch(/^model\.apiKey: Agent: model\.apiKey: must be one reference/);
      expect(error).toContain("PUT /api/secrets/");
      expect(error).not.toContain("sk-plain-key");
    }
    expect(await createInvalid({ app: "nowhere" })).toBe("app: There is no app nowhere.");
    expect(await createInvalid({ trigger: {} })).toContain("trigger: unexpected argument");
    expect(await createWithTrigger({ kind: "cron" })).toContain("triggers[0]");
    expect(await createWithTrigger({ kind: "event" })).toContain(
      "triggers[0].source: must name a source",
    );
    expect(await createWithTrigger({ kind: "schedule", cron: "* * * * * *" })).toContain(
      "triggers[0].cron: fires more than once a minute",
    );
    expect(await createWithTrigger({ kind: "schedule", cron: "0 0 30 2 *" })).toContain(
      "never fires",
    );
    expect(await createWithTrigger({ kind: "tool" })).toContain("triggers[0].toolDescription: ");
    expect(await createWithTrigger({ ...issueOpenedTrigger, filter: "data." })).toMatch(
      /^triggers\[0\]\.filter: The flow cannot run yet: /,
    );
    expect((await agent.callTool("AUTOMATION_LIST")).automations).toEqual([]);

    for (const tool of ["AUTOMATION_GET", "AUTOMATION_DELETE", "AUTOMATION_RUN"])
      expect(await agent.expectError(tool, { id: "nope" })).toContain("There is no flow nope");
    expect(await agent.expectError("AUTOMATION_RUN_GET", { run_id: "nope" })).toBe(
      "run_id: There is no run nope.",
    );
    expect(await agent.expectError("CONNECTION_CHECK", { connection: "nope" })).toBe(
      "connection: There is no connection nope.",
    );
    expect(await agent.expectError("AUTOMATION_TRIGGER_TEST", {})).toContain("id: is missing");
    const testTrigger = (trigger: object) =>
      agent.expectError("AUTOMATION_TRIGGER_TEST", { trigger });
    expect(await testTrigger({ kind: "schedule", cron: "at noon" })).toContain("trigger.cron: ");
    expect(await testTrigger({ kind: "tool", toolDescription: "Tidies." })).toContain(
      "trigger.kind: Only triggers of the kinds event and schedule can be tested.",
    );

    await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
    const flow = (await api.expect(201, "POST", "/api/apps/desk/flows", { name: "Plain" })).json;
    expect(await agent.expectError("AUTOMATION_GET", { id: flow.id })).toContain(
      "is not an automation",
    );
    expect(await agent.expectError("AUTOMATION_DELETE", { id: flow.id })).toContain(
      "not an automation",
    );
    await api.expect(200, "GET", `/api/flows/${flow.id}`);

    const { id } = await agent.callTool("AUTOMATION_CREATE", {
      name: "X",
      ...agentArguments(model.url),
    });
    const added = await agent.callTool("AUTOMATION_TRIGGER_ADD", {
      id,
      trigger: issueOpenedTrigger,
    });
    expect(
      await agent.expectError("AUTOMATION_TRIGGER_UPDATE", {
        id,
        trigger_id: added.trigger_id,
        changes: { source: null },
      }),
    ).toContain("changes.source: must name a source");
    expect(
      await agent.expectError("AUTOMATION_TRIGGER_REMOVE", { id, trigger_id: "nope" }),
    ).toContain(`has no trigger nope. Choose one of ${added.trigger_id}`);
    expect((await agent.callTool("AUTOMATION_GET", { id })).triggers).toHaveLength(1);
  });

  it("keep the automations of tenants apart", async () => {
    const api = await startApi(backend, { SIGNALBOX_TENANCY: "github" });
    const agents = await Promise.all(
      ["1", "2"].map(async (tenant) =>
        connect(api, await api.token("--scope", "admin", "--tenant", tenant)),
      ),
    );
    const [first, second] = agents as [Agent, Agent];
    const agent = { model: { provider: "openai", name: "m" }, instructions: "Help." };
    const { id } = await first.callTool("AUTOMATION_CREATE", {
      name: "Mine",
      ...agent,
      triggers: [issueOpenedTrigger],
    });
    expect((await first.callTool("AUTOMATION_LIST")).automations).toHaveLength(1);
    expect((await second.callTool("AUTOMATION_LIST")).automations).toEqual([]);
    for (const tool of ["AUTOMATION_GET", "AUTOMATION_UPDATE", "AUTOMATION_DELETE"])
      expect(await second.expectError(tool, { id })).toContain(`There is no flow ${id}`);
    expect(
      await second.expectError("AUTOMATION_TRIGGER_ADD", { id, trigger: issueOpenedTrigger }),
    ).toContain("There is no flow");
    const both = await connect(api, await api.token("--scope", "admin", "--tenant", "1,2"));
    expect(await both.expectError("AUTOMATION_LIST")).toContain("tenant: is missing");
  });
});
