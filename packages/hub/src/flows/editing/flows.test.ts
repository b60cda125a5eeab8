import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import type { Offers } from "../../connections/model.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import { createIds } from "../../kernel/lib/ids.ts";
import { type Store, storeDefinition } from "../../store.ts";
import { testRunJob } from "../test-run-job.ts";
import {
  createFlows,
  type DescribedFlow,
  type FlowChange,
  type FlowKey,
  type Flows,
  type NewNode,
} from "./flows.ts";

const tenant = "local";
const details = { note: "", by: "test" };
let store: Store;
let flows: Flows;
let clockOffset = 0;

beforeEach(async () => {
  clockOffset = 0;
  store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  flows = createFlows({
    store,
    registry: nodeTypes,
    runJob: testRunJob,
    newId: createIds(),
    now: () => Date.now() + clockOffset,
  });
  const app = { tenant, slug: "desk", name: "Desk", description: "" };
  await store.createApp({ ...app, created_at: 1, updated_at: 1 });
});
afterEach(() => store.close());

const tool = (name: string, isActive = true): NewNode => ({
  id: "start",
  type: "UserIntent",
  name,
  parameters: { toolDescription: "Does it.", isActive },
});
const make = (name: string, node: NewNode) =>
  flows.create(tenant, "desk", {
    name,
    nodes: [tool(name), node],
    edges: [{ source: "start", sourceHandle: "out", target: node.id ?? "", targetHandle: "in" }],
  });
const callNode = (flow: string, trigger: string): NewNode => ({
  id: "ask",
  type: "CallFlow",
  name: "Ask",
  parameters: { flow, trigger },
});
const end: NewNode = { id: "end", type: "Return", name: "End" };
const warningCodes = ({ warnings }: DescribedFlow) => warnings.map(({ code }) => code);

it("saves a draft whose HttpRequest allows too large a response, and does not publish it", async () => {
  const parameters = { url: "https://api.example", maxBytes: 20_000_000 };
  const fetch: NewNode = { id: "fetch", type: "HttpRequest", name: "Fetch", parameters };
  const { id, errors } = await make("Fetch it", fetch);
  expect(errors).toMatchObject([{ nodeId: "fetch", path: "maxBytes" }]);
  await expect(flows.publish({ tenant, id }, details)).rejects.toThrow(
    "maxBytes: must be at most 8000000",
  );
});

it("does not publish a call without a required argument, and warns callers of new parameters", async () => {
  const withParameter = {
    ...tool("Weather"),
    parameters: { toolDescription: "x", parameters: [{ name: "city" }] },
  };
  const callee = await make("Weather", end);
  const caller = await make("Caller", callNode(callee.id, "weather"));
  const keys = [callee, caller].map(({ id }) => ({ tenant, id })) as [FlowKey, FlowKey];
  for (const key of keys) await flows.publish(key, details);
  const nodes = [withParameter, end];
  await flows.change(keys[0], { nodes });
  // The published version has no parameters yet.
  expect(warningCodes(await flows.get(tenant, caller.id))).toEqual([]);
  await flows.publish(keys[1], details);
  await flows.publish(keys[0], details);
  expect(await flows.get(tenant, caller.id)).toMatchObject({
    version: 2,
    warnings: [
      {
        code: "invalid_call",
        nodeId: "ask",
        path: "input",
        message:
          'Ask: input: missing required property "city": must match the parameters of Weather in Weather',
        problem:
          'missing required property "city": must match the parameters of Weather in Weather',
      },
    ],
  });
  const missing = /Ask: input: missing required property "city"/;
  await expect(flows.publish(keys[1], details)).rejects.toThrow(missing);
  await expect(flows.rollBack(keys[1], 1, "test")).rejects.toThrow(missing);
  const parameters = { input: { city: "Bern" } };
  expect(warningCodes(await flows.changeNode(keys[1], "ask", { parameters }))).toEqual([]);
  expect(await flows.publish(keys[1], details)).toMatchObject({ version: 3, warnings: [] });
});

it("does not publish a flow that refers to a missing secret, even an earlier version", async () => {
  const send: NewNode = {
    id: "send",
    type: "HttpRequest",
    name: "Send",
    parameters: { url: "https://example.com", headers: { a: "{{ secrets.KEY }}" } },
  };
  const flow = await make("Report", send);
  expect(warningCodes(flow)).toEqual(["missing_secret"]);
  const key = { tenant, id: flow.id };
  const missing = /Send: headers\.a: there is no secret KEY/;
  await expect(flows.publish(key, details)).rejects.toThrow(missing);
  await store.putSecret("other", "KEY", "sealed", 1);
  await expect(flows.publish(key, details)).rejects.toThrow(missing);
  await store.putSecret(tenant, "KEY", "sealed", 1);
  expect(warningCodes(await flows.publish(key, details))).toEqual([]);
  await store.deleteSecret(tenant, "KEY");
  await expect(flows.rollBack(key, 1, "test")).rejects.toThrow(missing);
  expect(await flows.get(tenant, flow.id)).toMatchObject({
    version: 1,
    warnings: [{ code: "missing_secret" }],
  });
});

it("rejects a draft that contains an API key in plain text", async () => {
  const agent = (apiKey: string): NewNode => ({
    id: "triage",
    type: "Agent",
    name: "Triage",
    parameters: { model: { provider: "openai", name: "m", apiKey }, instructions: "Decide." },
  });
  const message = /Triage: model\.apiKey: must be one reference .* PUT \/api\/secrets\/API_KEY/;
  const plain = "sk-plain-key";
  await expect(make("Triage", agent(plain))).rejects.toThrow(message);
  const { id } = await make("Triage", agent("{{ secrets.KEY }}"));
  const { parameters = {} } = agent(plain);
  await expect(flows.changeNode({ tenant, id }, "triage", { parameters })).rejects.toThrow(message);
  await expect(flows.change({ tenant, id }, { nodes: [agent(plain)], edges: [] })).rejects.toThrow(
    message,
  );
  expect(JSON.stringify(await flows.get(tenant, id))).not.toContain(plain);
});

describe("the source of an event trigger", () => {
  const on = (parameters: JsonObject): FlowChange => ({
    nodes: [
      { id: "on", type: "Event", name: "On", parameters },
      { id: "end", type: "Return", name: "End", parameters: { value: "done" } },
    ],
    edges: [{ source: "on", sourceHandle: "out", target: "end", targetHandle: "in" }],
  });
  const endpoint = { kind: "generic", name: "Build", key: "k", config: {}, created_at: 1 };
  const connection = {
    tenant,
    name: "Weather",
    target: { url: "https://weather.test/mcp" },
    sealed: null,
    credentials: {},
  };

  it("must be a kind of source, or an endpoint, a flow or a connection of the tenant", async () => {
    await store.putTenant({ id: tenant, at: 1 });
    await store.putTenant({ id: "other", at: 1 });
    await store.putSource({ ...endpoint, id: "endpoint-1", tenant });
    await store.putSource({ ...endpoint, id: "endpoint-2", key: "k2", tenant: "other" });
    await store.createConnection({ ...connection, id: "weather-7kq2xv" }, 1);
    await store.createConnection({ ...connection, id: "weather-other", tenant: "other" }, 1);
    const { id } = await make("Watch", end);
    for (const source of ["github", "signalbox", "endpoint-1", id, "weather-7kq2xv"]) {
      const codes = source === "weather-7kq2xv" ? ["connection_not_checked"] : [];
      const changed = await flows.change({ tenant, id }, on({ source }));
      expect([source, changed.errors, warningCodes(changed)]).toEqual([source, [], codes]);
      await flows.publish({ tenant, id }, details);
    }
    for (const source of ["endpoint-2", "weather-other", "weather-7kq2xw"]) {
      const changed = await flows.change({ tenant, id }, on({ source }));
      expect([source, ...warningCodes(changed)]).toEqual([source, "no_such_source"]);
    }
  });

  it("determines the valid types and params, and the tools that can be polled", async () => {
    await store.putTenant({ id: tenant, at: 1 });
    await store.createConnection({ ...connection, id: "weather-7kq2xv" }, 1);
    const lease = { by: "test", now: 2, until: 100, limit: 1 };
    const [leased] = await store.leaseConnections(lease);
    const schema = { city: { type: "string", enum: ["Rome"] } };
    const offers: Offers = {
      server: null,
      perSubscription: false,
      tools: [{ name: "list", description: "", inputSchema: { type: "object" } }],
      triggers: [
        {
          type: "sun",
          description: "",
          binding: "callback",
          paramsSchema: schema,
          inputSchema: { type: "object", properties: schema, required: ["city"] },
        },
      ],
    };
    const revision = leased?.connection.revision ?? 0;
    const result = { id: "weather-7kq2xv", revision, status: "ok", offers, next_at: 9 } as const;
    expect(await store.finishConnection("test", result, [], 3)).toBe(true);

    const { id } = await make("Watch", end);
    const codesOf = async (fields: JsonObject) => {
      const parameters = { source: "weather-7kq2xv", type: "sun", ...fields };
      const { errors, warnings } = await flows.change({ tenant, id }, on(parameters));
      return [...errors, ...warnings].map(({ code }) => code);
    };
    const poll = { tool: "list", key: "id" };
    expect(await codesOf({ params: { city: "Rome" } })).toEqual([]);
    expect(await codesOf({ params: { city: "Oslo" } })).toEqual(["invalid_config"]);
    await expect(flows.publish({ tenant, id }, details)).rejects.toThrow(
      'params.city: "Oslo" is not one of "Rome"',
    );
    const anyOf = { op: "in", value: ["Oslo"] };
    expect(await codesOf({ params: { city: anyOf } })).toEqual([
      "invalid_param_value",
      "missing_param",
    ]);
    expect(await codesOf({ params: { city: "Rome", zip: 1 } })).toEqual(["no_such_param"]);
    expect(await codesOf({})).toEqual(["missing_param"]);
    expect(await codesOf({ type: "rain" })).toEqual(["no_such_event_type"]);
    await flows.publish({ tenant, id }, details);
    expect(await codesOf({ type: "item", poll })).toEqual([]);
    expect(await codesOf({ source: "github", poll })).toEqual(["invalid_config"]);
    expect(await codesOf({ poll: { ...poll, tool: "lst" } })).toEqual(["no_such_tool"]);
    await expect(flows.publish({ tenant, id }, details)).rejects.toThrow("has no tool lst");
  });
});

it("warns about calls of other flows that would fail", async () => {
  const callee = await make("Weather", end);
  const caller = await make("Caller", callNode(callee.id, "weather"));
  expect(caller.warnings).toEqual([
    {
      code: "not_published",
      nodeId: "ask",
      path: "flow",
      message: "Ask: flow: Weather is not published yet",
      problem: "Weather is not published yet",
    },
  ]);
  await flows.publish({ tenant, id: callee.id }, details);
  expect(warningCodes(await flows.get(tenant, caller.id))).toEqual([]);
  // The published version counts, not the draft.
  await flows.changeNode({ tenant, id: callee.id }, "start", { name: "Forecast" });
  expect(warningCodes(await flows.get(tenant, caller.id))).toEqual([]);
  await flows.publish({ tenant, id: callee.id }, details);
  const { flows: listed } = await flows.list(tenant, { limit: 9 });
  expect(listed.map(warningCodes)).toEqual([[], ["renamed_trigger"]]);
  expect(listed[1]?.warnings[0]?.message).toBe(
    "Ask: trigger: was renamed to forecast in Weather; weather works until another trigger gets that slug",
  );
  const lost = { parameters: { flow: callee.id, trigger: "lost" } };
  expect(warningCodes(await flows.changeNode({ tenant, id: caller.id }, "ask", lost))).toEqual([
    "no_such_trigger",
  ]);
  await flows.remove({ tenant, id: callee.id });
  expect(warningCodes(await flows.get(tenant, caller.id))).toEqual(["no_such_flow"]);
  const key = { tenant, id: caller.id };
  const parameters = { flow: caller.id, trigger: "caller" };
  expect(warningCodes(await flows.changeNode(key, "ask", { parameters }))).toEqual([
    "calls_itself",
  ]);
});

it("warns about code that uses a node's former name", async () => {
  const code = "return nodes.weather.x;";
  const made = await make("Weather", { ...end, type: "Code", parameters: { code } });
  expect(made.warnings).toEqual([]);
  const renamed = await flows.changeNode({ tenant, id: made.id }, "start", { name: "Forecast" });
  expect(renamed.warnings).toMatchObject([{ code: "unknown_node_in_code", nodeId: "end" }]);
  expect(renamed.warnings[0]?.message).toContain(
    "End: code: nodes.weather refers to an unknown node",
  );
});

it("reserves a former tool name for a week, even within the flow", async () => {
  const { id } = await make("Get X", end);
  const key = { tenant, id };
  await flows.publish(key, details);
  await flows.changeNode(key, "start", { name: "Get Y" });
  const add = async (node: string) => {
    await flows.addNode(key, { ...tool("Get X"), id: node });
    return (await flows.get(tenant, id)).exposedTools.find(({ nodeId }) => nodeId === node)?.name;
  };
  // The draft is renamed, but agents still use the published name.
  expect(await add("second")).toBe("get_x_2");
  await flows.removeNode(key, "second");
  await flows.publish(key, details);
  expect(await add("second")).toBe("get_x_2");
  expect(await store.findTool(tenant, "desk", "get_x", Date.now())).toMatchObject({
    trigger: { node_id: "start" },
    alias: true,
  });
  clockOffset = 8 * 24 * 3_600_000;
  expect(await add("third")).toBe("get_x");
});

it("rejects a second edge between the same ports", async () => {
  const { id, graph } = await make("Weather", end);
  const [
    { id: _, ...edge } = { id: "", source: "", sourceHandle: "", target: "", targetHandle: "" },
  ] = graph.edges;
  await expect(flows.addEdge({ tenant, id }, edge)).rejects.toMatchObject({
    code: "invalid",
    message: "Weather is connected to End twice, from out to in: remove one of the two edges.",
  });
});

it("reports a JSONata syntax error in a draft, and does not publish it", async () => {
  const transform = {
    id: "t",
    type: "Transform",
    name: "T",
    parameters: { expression: "input.(" },
  };
  const { id, errors } = await make("Broken", transform);
  expect(errors).toMatchObject([
    {
      code: "invalid_config",
      path: "expression",
      message: expect.stringContaining("at character"),
    },
  ]);
  await expect(flows.publish({ tenant, id }, details)).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("expression: "),
  });
  await flows.changeNode({ tenant, id }, "t", {
    parameters: { expression: "$match(input.x, /a+/).match" },
  });
  expect(await flows.publish({ tenant, id }, details)).toMatchObject({ version: 1, errors: [] });
});

it("renames a node in the JSONata of other nodes", async () => {
  const { id } = await make("Weather", {
    id: "t",
    type: "Transform",
    name: "T",
    parameters: { expression: "nodes.weather.city" },
  });
  const { graph } = await flows.changeNode({ tenant, id }, "start", { name: "Forecast" });
  expect(graph.nodes.find((node) => node.id === "t")?.parameters.expression).toBe(
    "nodes.forecast.city",
  );
});

it("merges the parameters of a changed node, and replaces those of a replaced node", async () => {
  const { id } = await make("Weather", {
    id: "call",
    type: "HttpRequest",
    name: "Call",
    parameters: { url: "https://example.com", headers: { a: "1", b: "2" }, failures: ["500-599"] },
  });
  const key = { tenant, id };
  const parametersOf = ({ graph }: DescribedFlow) => graph.nodes[1]?.parameters;
  const merged = await flows.changeNode(key, "call", {
    parameters: { method: "POST", headers: { a: null, c: "3" } as never, failures: ["400"] },
  });
  expect(parametersOf(merged)).toEqual({
    url: "https://example.com",
    method: "POST",
    headers: { b: "2", c: "3" },
    failures: ["400"],
  });
  const url = "https://example.com/2";
  const replaced = await flows.replaceNode(key, "call", { parameters: { url } });
  expect(replaced.graph.nodes[1]).toEqual({ ...merged.graph.nodes[1], parameters: { url } });
  // A client may read the flow, change the node, and send the whole node.
  const whole = { ...replaced.graph.nodes[1], type: "Return", parameters: { value: 1 } } as never;
  expect((await flows.replaceNode(key, "call", whole)).graph.nodes[1]).toEqual(whole);
  await expect(
    flows.replaceNode(key, "call", { slug: "other", parameters: {} }),
  ).rejects.toMatchObject({ field: "slug", message: "cannot be changed: it is call" });
  await expect(flows.replaceNode(key, "none", { parameters: {} })).rejects.toMatchObject({
    code: "not_found",
  });
});

it("keeps the arguments of a tool when another of its parameters changes", async () => {
  const { id } = await flows.create(tenant, "desk", {
    name: "Flow",
    nodes: [
      {
        ...tool("Ask"),
        parameters: { toolDescription: "Asks.", parameters: [{ name: "city" }], isActive: false },
      },
    ],
  });
  const changed = await flows.changeNode({ tenant, id }, "start", {
    parameters: { toolDescription: "Asks again." },
  });
  expect(changed.graph.nodes[0]?.parameters).toEqual({
    toolName: "ask",
    toolDescription: "Asks again.",
    parameters: [{ name: "city" }],
    isActive: false,
  });
  expect(changed.exposedTools).toEqual([]);
});

it("names the node id that does not exist when it rejects an edge", async () => {
  const { id } = await make("Weather", end);
  const added = flows.addEdge(
    { tenant, id },
    { source: "start", sourceHandle: "out", target: "nope", targetHandle: "in" },
  );
  await expect(added).rejects.toMatchObject({
    field: "target",
    message:
      'The edge from "start" to "nope" has no target: there is no node with the id "nope". Add the node, or remove the edge.',
  });
  const edges = [
    { source: "start", sourceHandle: "out", target: "end", targetHandle: "in" },
    { source: "weather", sourceHandle: "out", target: "end", targetHandle: "in" },
  ];
  await expect(flows.change({ tenant, id }, { edges })).rejects.toMatchObject({
    field: "edges[1].source",
    message: expect.stringMatching(
      /no node with the id "weather"\. The node with this slug has the id "start"\.$/,
    ),
  });
});

it("returns when the schedules of the published version fire next", async () => {
  const schedule = (parameters: NewNode["parameters"]): NewNode => ({
    id: "daily",
    type: "Schedule",
    name: "Daily",
    parameters,
  });
  const draft = await flows.create(tenant, "desk", {
    name: "Digest",
    nodes: [schedule({ cron: "0 9 * * *" }), end],
    edges: [{ source: "daily", sourceHandle: "out", target: "end", targetHandle: "in" }],
  });
  expect(draft.schedules).toEqual([]);
  const key = { tenant, id: draft.id };
  const before = Date.now();
  const [stored, ...others] = (await flows.publish(key, details)).schedules;
  expect(others).toEqual([]);
  const next_at = stored?.next_at ?? 0;
  expect(stored).toEqual({
    flow_id: draft.id,
    node_id: "daily",
    cron: "0 9 * * *",
    time_zone: "UTC",
    next_at,
  });
  expect(new Date(next_at).toISOString()).toMatch(/T09:00:00.000Z$/);
  expect(next_at - before).toBeGreaterThan(0);
  expect(next_at - before).toBeLessThan(24 * 3_600_000 + 1);

  // A change of `misfire` keeps the next time, a change of `cron` does not. A paused schedule has none.
  clockOffset = 48 * 3_600_000;
  await flows.changeNode(key, "daily", { parameters: { misfire: "skip" } });
  expect((await flows.publish(key, details)).schedules).toEqual([stored]);
  await flows.changeNode(key, "daily", { parameters: { cron: "0 10 * * *" } });
  const [changed] = (await flows.publish(key, details)).schedules;
  expect(changed?.next_at).toBeGreaterThan(before + clockOffset);
  await flows.changeNode(key, "daily", { parameters: { isActive: false } });
  expect((await flows.publish(key, details)).schedules).toEqual([]);
  expect((await flows.rollBack(key, 1, "test")).schedules).toMatchObject([{ cron: "0 9 * * *" }]);
  await flows.remove(key);
  expect(await store.nextScheduleDue()).toBeNull();
});

it("rejects a schedule that fires every few seconds, and names the field and the fix", async () => {
  const flow = await flows.create(tenant, "desk", {
    name: "Too often",
    nodes: [
      { id: "often", type: "Schedule", name: "Often", parameters: { cron: "*/10 * * * * *" } },
      end,
    ],
    edges: [{ source: "often", sourceHandle: "out", target: "end", targetHandle: "in" }],
  });
  const problem = { nodeId: "often", path: "cron" };
  expect(flow.errors).toMatchObject([problem]);
  await expect(flows.publish({ tenant, id: flow.id }, details)).rejects.toThrow(
    /cron.*fires more than once a minute: use one number as the seconds/,
  );
});
