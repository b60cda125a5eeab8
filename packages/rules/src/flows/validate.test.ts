import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Json, JsonObject } from "../json.ts";
import { analyzeExpression } from "./analyze-expression.ts";
import type { FlowDraft } from "./model.ts";
import { createRegistry, defineNode } from "./node-type.ts";
import { EVENT_FIELDS } from "./nodes/event.ts";
import { nodeTypes } from "./nodes/index.ts";
import { testEdge, testFlow, testNode, testTool } from "./test-flow.ts";
import { describeFlow, preventsPublishing, validateFlow } from "./validate.ts";

const nodeDefaults = {
  title: "",
  description: "",
  icon: "X",
  sample: { config: {}, result: { output: null }, rejects: { config: {}, path: "" } },
  run: () => ({ output: null }),
};
const step = defineNode({
  ...nodeDefaults,
  type: "Step",
  kind: "action",
  config: z.strictObject({
    text: z.string().optional(),
    count: z.number().optional(),
    headers: z.array(z.strictObject({ value: z.string() })).optional(),
    code: z.string().optional(),
  }),
  ports: { in: ["in"], out: ["out"] },
  secretFields: ["headers[].value"],
  rawFields: ["code"],
});
const forEach = defineNode({
  ...nodeDefaults,
  type: "Loop",
  kind: "logic",
  config: z.strictObject({}),
  ports: { in: ["in"], out: ["done", "item"] },
  locals: { item: ["item", "index"] },
});
const registry = createRegistry([...nodeTypes.values(), step, forEach]);

const withParameters = (...names: string[]) => ({ parameters: names.map((name) => ({ name })) });
const call = testTool("Call", withParameters("city", "x"));
const node = (name: string, parameters: JsonObject = {}) => testNode("Step", name, parameters);
const end = (name = "End") => testNode("Return", name);
const validate = (flow: FlowDraft) =>
  validateFlow(flow, registry, { findAnalysis: analyzeExpression });
const errors = (flow: FlowDraft) => validate(flow).errors;
const warnings = (flow: FlowDraft) => validate(flow).warnings;
const codes = (findings: { code: string }[]) => findings.map(({ code }) => code);

it("reports nothing for a valid flow", () => {
  const flow = testFlow(
    [
      call,
      node("Fetch", { text: "{{ trigger.city }}" }),
      testNode("Return", "End", { value: "{{ fetch.x }}" }),
    ],
    ["call → fetch", "fetch → end"],
  );
  expect(validateFlow(flow, registry)).toEqual({ errors: [], warnings: [] });
});

it("lists the source and type of event triggers, even if they are incomplete", () => {
  const flow = testFlow([
    testTool("Call"),
    testNode("Event", "Push", { source: "github", type: "push" }),
    testNode("Event", "Any", { source: "stripe" }),
    testNode("Event", "New", { type: 7 }),
  ]);
  expect(describeFlow(flow, registry).listensTo).toEqual([
    { nodeId: "push", source: "github", type: "push" },
    { nodeId: "any", source: "stripe", type: "" },
    { nodeId: "new", source: "", type: "" },
  ]);
});

describe("a warning", () => {
  it("reports a flow without triggers", () => {
    for (const flow of [testFlow([]), testFlow([end()])]) {
      const described = describeFlow(flow, registry);
      expect(described.hasTriggers).toBe(false);
      expect(described.exposedTools).toEqual([]);
      expect(described.errors).toEqual([]);
      expect(described.warnings[0]).toEqual({
        code: "no_triggers",
        message: "This flow has no trigger nodes and cannot be executed via MCP.",
      });
    }
  });

  it("reports a flow whose triggers are all inactive", () => {
    const off = testTool("Off", { isActive: false });
    const flow = testFlow([off, end()], ["off → end"]);
    expect(describeFlow(flow, registry)).toMatchObject({
      hasTriggers: true,
      exposedTools: [],
      warnings: [{ code: "no_active_triggers", message: "No active triggers" }],
    });
    const other = testNode("Event", "Push", { source: "github" });
    expect(warnings(testFlow([off, other, end()], ["off → end", "push → end"]))).toEqual([]);
  });

  it("reports a trigger without an edge, and an unreachable node", () => {
    expect(warnings(testFlow([call, end()]))).toEqual([
      {
        code: "trigger_leads_nowhere",
        nodeId: "call",
        message: "Call: is not connected to any nodes, so its runs do nothing",
        problem: "is not connected to any nodes, so its runs do nothing",
      },
      {
        code: "orphan_node",
        nodeId: "end",
        message: "End: is not reachable from a trigger, so it never runs",
        problem: "is not reachable from a trigger, so it never runs",
      },
    ]);
  });
});

it("exposes every active tool", () => {
  const flow = testFlow([
    call,
    testTool("Get Weather Data", { toolDescription: "Weather." }),
    testTool("Off", { isActive: false }),
    testNode("Event", "Push", { source: "github" }),
    testNode("UserIntent", "Unnamed"),
  ]);
  expect(describeFlow(flow, registry).exposedTools).toEqual([
    { nodeId: "call", name: "call", description: "Does it." },
    { nodeId: "get_weather_data", name: "get_weather_data", description: "Weather." },
  ]);
});

describe("an error", () => {
  it("reports a cycle, with the names of its nodes", () => {
    const flow = testFlow(
      [call, node("Fetch"), node("Clean")],
      ["call → fetch", "fetch → clean", "clean → fetch"],
    );
    expect(errors(flow)).toEqual([
      {
        code: "cycle",
        message: "Cycle: Fetch → Clean → Fetch",
        nodeId: "fetch",
      },
    ]);
  });

  it("reports an unknown node type", () => {
    expect(errors(testFlow([call, testNode("Teleport", "Go")], ["call → go"]))).toEqual([
      {
        code: "unknown_node_type",
        message: "Go: unknown node type Teleport",
        problem: "unknown node type Teleport",
        nodeId: "go",
      },
    ]);
  });

  it.each([
    ["call → ghost", "missing_node", 'has no target: there is no node with the id "ghost".'],
    ["ghost → end", "missing_node", 'has no source: there is no node with the id "ghost".'],
    ["call → End", "missing_node", 'The node with this name has the id "end".'],
    ["call:maybe → end", "missing_port", "Call: has no output port maybe; it has out."],
    ["end → fetch", "missing_port", "End: has no output port out; it has none."],
    ["fetch → call", "trigger_with_input", "Call: is a trigger, which cannot have incoming edges."],
  ])("reports the edge %s with the code %s", (edge, code, message) => {
    expect(errors(testFlow([call, node("Fetch"), end()], [edge]))).toEqual([
      expect.objectContaining({ code, edgeId: edge, message: expect.stringContaining(message) }),
    ]);
  });

  it("does not report an edge from the port `error`", () => {
    expect(errors(testFlow([call, node("Fetch"), end()], ["fetch:error → end"]))).toEqual([]);
  });

  it("reports an unknown input port", () => {
    const flow = testFlow([call, end()]);
    flow.edges.push({ ...testEdge("call → end"), targetHandle: "left" });
    expect(errors(flow)).toMatchObject([{ code: "missing_port", nodeId: "end" }]);
  });

  it("reports an unknown port of a node whose ports depend on the config, unless the config is invalid", () => {
    const choose = (cases: JsonObject[]) => testNode("Switch", "Choose", { value: 1, cases });
    const flow = (cases: JsonObject[]) =>
      testFlow([call, choose(cases), end()], ["call → choose", "choose:a → end", "choose:b → end"]);
    expect(errors(flow([{ name: "a", value: 1 }]))).toMatchObject([
      {
        code: "missing_port",
        message: "Choose: has no output port b; it has a, default, error.",
      },
    ]);
    expect(codes(errors(flow([])))).toEqual(["invalid_config"]);
  });

  it("reports duplicate ids, slugs and tool names", () => {
    const flow = testFlow([call, { ...call, name: "Other" }, end()], ["call → end", "call → end"]);
    expect(codes(errors(flow))).toEqual([
      "duplicate_id",
      "duplicate_slug",
      "duplicate_tool_name",
      "duplicate_id",
      "duplicate_edge",
    ]);
  });

  it("reports duplicate edges, with the names of the nodes", () => {
    const flow = testFlow([call, node("Fetch")], ["call → fetch"]);
    flow.edges.push({ ...testEdge("call → fetch"), id: "again" });
    expect(errors(flow)).toEqual([
      {
        code: "duplicate_edge",
        edgeId: "again",
        message: "Call is connected to Fetch twice, from out to in: remove one of the two edges.",
      },
    ]);
    flow.edges.pop();
    expect(errors(flow)).toEqual([]);
  });
});

describe("a node's parameters", () => {
  const check = (parameters: JsonObject) =>
    errors(testFlow([call, node("Fetch", parameters)], ["call → fetch"]));

  it("are reported with their path if they are invalid", () => {
    expect(check({ count: "many", headers: [{ value: 1 }] })).toMatchObject([
      { code: "invalid_config", nodeId: "fetch", path: "count" },
      { code: "invalid_config", nodeId: "fetch", path: "headers[0].value" },
    ]);
    expect(check({ colour: "red" })).toMatchObject([{ code: "invalid_config" }]);
  });

  it("may be templates for values of any type", () => {
    expect(check({ count: "{{ trigger.count }}" })).toEqual([]);
    expect(check({ headers: "{{ trigger.headers }}" })).toEqual([]);
  });

  it("are validated if they contain no reference, and if their strings are not templates", () => {
    expect(codes(check({ count: "\\{{ trigger.count }}" }))).toEqual(["invalid_config"]);
    expect(codes(check({ code: ["{{ trigger.x }}"] }))).toEqual(["invalid_config"]);
    expect(codes(check({ code: 1, text: "{{ trigger.x }}" }))).toEqual(["invalid_config"]);
  });

  it("are reported if they are unknown, even if they are templates", () => {
    expect(check({ text: "{{ trigger.x }}", more: "{{ trigger.x }}" })).toMatchObject([
      {
        code: "invalid_config",
        path: "more",
        message: "Fetch: more: unexpected field: remove it",
      },
    ]);
  });

  it("include the settings of every node", () => {
    expect(check({ settings: { retries: { attempts: 3 }, timeoutMs: 5000 } })).toEqual([]);
    expect(check({ settings: { retries: { attempts: 99 } } })).toMatchObject([
      { code: "invalid_config", path: "settings.retries.attempts" },
    ]);
    expect(check({ settings: 5 })).toMatchObject([{ path: "settings" }]);
  });

  it("of a loop cannot set a time limit or retries", () => {
    const settings = { timeoutMs: 500, retries: { attempts: 3 }, continueOnError: true };
    const each = testNode("ForEach", "Each", { items: [], settings });
    const { errors } = validateFlow(testFlow([call, each], ["call → each"]), nodeTypes);
    const message = "has no effect on a loop: set it on the nodes inside";
    expect(errors).toMatchObject(
      ["timeoutMs", "retries"].map((name) => ({
        code: "invalid_config",
        path: `settings.${name}`,
        message: `Each: settings.${name}: ${message}`,
      })),
    );
    each.parameters.settings = { continueOnError: true };
    expect(validateFlow(testFlow([call, each], ["call → each"]), nodeTypes).errors).toEqual([]);
  });

  it("of a trigger are not parsed as templates", () => {
    const odd = testTool("Odd", { toolDescription: "Fills in {{ nothing.here }} and {{ }}." });
    expect(errors(testFlow([odd, end()], ["odd → end"]))).toEqual([]);
  });
});

describe("references", () => {
  /** call → fetch → show, and other on a parallel branch. */
  const check = (text: string, parameters: JsonObject = { text }) =>
    validateFlow(
      testFlow(
        [call, node("Fetch"), node("Show", parameters), node("Other")],
        ["call → fetch", "fetch → show", "call → other"],
      ),
      registry,
    );

  it.each(["{{ trigger.x }}", "{{ fetch.x }}", "{{ call.x }}"])("such as %s are valid", (text) => {
    expect(check(text)).toEqual({ errors: [], warnings: [] });
  });

  it.each([
    ["{{ ghost.x }}", "dangling_reference", "refers to the unknown node ghost"],
    ["{{ ghost.x? }}", "dangling_reference", "refers to the unknown node ghost"],
    ["{{ other.x }}", "reference_not_before", "Other does not run before Show"],
    ["{{ show.x }}", "reference_not_before", "refers to the node itself"],
    ["{{ item }}", "not_in_loop", "is defined only inside a loop"],
    ["{{ secrets.KEY }}", "secret_not_allowed", "is not allowed in this field"],
    ["{{ secrets }}", "secret_not_allowed", "must name one secret"],
    ["{{ fetch. }}", "template_syntax", "expected }} at character 8"],
  ])("such as %s have the error %s", (text, code, message) => {
    const { errors, warnings } = check(text);
    expect(warnings).toEqual([]);
    expect(errors).toMatchObject([
      { code, nodeId: "show", path: "text", message: expect.stringMatching(/^Show: text: /) },
    ]);
    expect(errors[0]?.message).toContain(message);
  });

  it("to secrets are allowed only in fields for secrets", () => {
    const header = (value: string) => check("", { headers: [{ value }] }).errors;
    expect(header("Bearer {{ secrets.KEY }}")).toEqual([]);
    expect(codes(header("{{ secrets }}"))).toEqual(["secret_not_allowed"]);
    expect(codes(header("{{ secrets.KEY.more }}"))).toEqual(["secret_not_allowed"]);
    const result = testNode("Return", "End", { value: { a: ["{{ secrets.KEY }}"] } });
    expect(errors(testFlow([call, result], ["call → end"]))).toMatchObject([
      { code: "secret_not_allowed", path: "value.a[0]" },
    ]);
  });

  it("in code are not parsed as templates", () => {
    expect(check("", { code: "{{ ghost.x }} {{ }}" })).toEqual({ errors: [], warnings: [] });
  });

  it("to item and index are allowed only inside a loop", () => {
    const uses = (name: string) => node(name, { text: "{{ item.id }} {{ index }}" });
    const flow = testFlow(
      [call, testNode("Loop", "Each"), uses("Inside"), uses("Deeper"), uses("After")],
      [
        "call → each",
        "each:item → inside",
        "inside → deeper",
        "deeper → after",
        "each:done → after",
      ],
    );
    expect(errors(flow).map(({ code, nodeId }) => `${code} ${nodeId}`)).toEqual([
      "not_in_loop after",
      "not_in_loop after",
    ]);
  });

  it("to one of two triggers cause a warning, unless they are optional", () => {
    const flow = (text: string) =>
      testFlow(
        [
          testTool("A", withParameters("x")),
          testTool("B", withParameters("x")),
          node("Show", { text }),
        ],
        ["a → show", "b → show"],
      );
    expect(errors(flow("{{ a.x }}"))).toEqual([]);
    expect(warnings(flow("{{ a.x }}"))).toEqual([
      {
        code: "reference_not_always",
        nodeId: "show",
        path: "text",
        message:
          "Show: text: {{ a.x }} is missing when B starts the run; write trigger instead, or mark it as optional with ?",
        problem:
          "{{ a.x }} is missing when B starts the run; write trigger instead, or mark it as optional with ?",
      },
    ]);
    expect(warnings(flow("{{ a.x? }} {{ trigger.x }}"))).toEqual([]);
  });

  describe("to a field of the trigger", () => {
    const push = testNode("Event", "Push", { source: "github" });
    const warningsFor = (text: string, ...triggers: FlowDraft["nodes"]) =>
      warnings(
        testFlow(
          [...triggers, node("Show", { text }), testTool("Separate", withParameters("y")), end()],
          [...triggers.map(({ id }) => `${id} → show`), "separate → end"],
        ),
      );

    it("cause a warning if it is not a parameter of the tool", () => {
      expect(warningsFor("{{ trigger.y.z }}", call)).toEqual([
        {
          code: "no_such_parameter",
          nodeId: "show",
          path: "text",
          message: "Show: text: {{ trigger.y.z }} is not provided by a trigger: Call has city, x",
          problem: "{{ trigger.y.z }} is not provided by a trigger: Call has city, x",
        },
      ]);
      expect(warningsFor("{{ trigger.y }}", testTool("Bare"))).toMatchObject([
        { message: expect.stringMatching(/: Bare has no parameters$/) },
      ]);
    });

    it("cause a warning if it is not a field of the event", () => {
      for (const field of EVENT_FIELDS)
        expect(warningsFor(`{{ trigger.${field} }}`, push)).toEqual([]);
      expect(codes(warningsFor("{{ trigger.action }}", push))).toEqual(["no_such_parameter"]);
    });

    it("cause a warning that names the triggers that do not provide it", () => {
      const daily = testNode("Schedule", "Daily", { cron: "0 9 * * *" });
      expect(warningsFor("{{ trigger.data.x }}", push, daily)).toEqual([
        {
          code: "no_such_parameter",
          nodeId: "show",
          path: "text",
          message:
            "Show: text: {{ trigger.data.x }} is missing when Daily starts the run: Daily has scheduled_at, fired_at, time_zone, missed; mark it as optional with ?",
          problem:
            "{{ trigger.data.x }} is missing when Daily starts the run: Daily has scheduled_at, fired_at, time_zone, missed; mark it as optional with ?",
        },
      ]);
      const odd = testTool("Odd", { parameters: "none" });
      expect(codes(warningsFor("{{ trigger.y }}", call, odd))).toEqual(["no_such_parameter"]);
    });

    it("cause no warning if every trigger provides it, if they are optional, or if they name no field", () => {
      expect(warningsFor("{{ trigger.x }}", call, testTool("Other", withParameters("x")))).toEqual(
        [],
      );
      expect(warningsFor("{{ trigger.y? }} {{ trigger.data? }} {{ trigger }}", call, push)).toEqual(
        [],
      );
    });

    it("cause no warning if the output of a trigger is unknown, or if no trigger reaches the node", () => {
      const odd = testTool("Odd", { parameters: "none" });
      expect(warningsFor("{{ trigger.y }}", odd)).toEqual([]);
      expect(warningsFor("{{ trigger.y }}")).toMatchObject([{ code: "orphan_node" }]);
    });
  });
});

describe("code", () => {
  const warningsFor = (type: string, parameters: JsonObject) =>
    warnings(testFlow([call, testNode(type, "Count", parameters)], ["call → count"]));

  it("causes a warning if it refers to an unknown node", () => {
    expect(
      warningsFor("Code", { code: "return nodes.ghost.x + nodes.call.x + nodes.ghost.y" }),
    ).toEqual([
      {
        code: "unknown_node_in_code",
        nodeId: "count",
        path: "code",
        message:
          "Count: code: nodes.ghost refers to an unknown node. If the node was renamed, change the code too",
        problem:
          "nodes.ghost refers to an unknown node. If the node was renamed, change the code too",
      },
    ]);
    expect(warningsFor("Transform", { expression: "nodes.ghost.x & nodes.call.x" })).toMatchObject([
      { code: "unknown_node_in_code", path: "expression" },
    ]);
    expect(warningsFor("Transform", { expression: "input.nodes.ghost" })).toEqual([]);
    expect(
      warningsFor("Code", { code: "return `nodes.ghost` + /nodes.ghost/ + nodes.length" }),
    ).toEqual([]);
  });

  it("causes a warning if it reads secrets", () => {
    expect(warningsFor("Code", { code: "return 'Bearer {{ secrets.KEY }}'" })).toEqual([
      {
        code: "secret_in_code",
        nodeId: "count",
        path: "code",
        message:
          "Count: code: code has no access to secrets; write {{ secrets.KEY }} in headers or auth of an HttpRequest",
        problem:
          "code has no access to secrets; write {{ secrets.KEY }} in headers or auth of an HttpRequest",
      },
    ]);
    for (const expression of [
      "'Bearer {{secrets.KEY}}'",
      "'Bearer ' & secrets.KEY",
      "$$.secrets",
      "$lookup($, 'secrets')",
    ])
      expect(warningsFor("Transform", { expression })).toMatchObject([
        { code: "secret_in_code", path: "expression" },
      ]);
    expect(warningsFor("Transform", { expression: "input.secrets.KEY & trigger.secrets" })).toEqual(
      [],
    );
    expect(warningsFor("Code", { code: "return input.secrets.KEY + '{ secrets }'" })).toEqual([]);
  });
});

describe("secrets", () => {
  it("cause a warning that prevents publishing, if they do not exist", () => {
    const send = testNode("HttpRequest", "Send", {
      url: "https://example.com",
      headers: { a: "Bearer {{ secrets.NOPE }}", b: "{{ secrets.KEY }}" },
      auth: { type: "bearer", token: "{{ secrets.GONE? }}" },
    });
    const flow = testFlow([call, send], ["call → send"]);
    const { errors, warnings } = validateFlow(flow, registry, { secrets: new Set(["KEY"]) });
    expect(errors).toEqual([]);
    expect(warnings).toEqual([
      {
        code: "missing_secret",
        nodeId: "send",
        path: "headers.a",
        message: "Send: headers.a: there is no secret NOPE; add it with PUT /api/secrets/NOPE",
        problem: "there is no secret NOPE; add it with PUT /api/secrets/NOPE",
      },
      expect.objectContaining({ code: "missing_secret", path: "auth.token" }),
    ]);
    expect(warnings.every(preventsPublishing)).toBe(true);
    expect(validateFlow(flow, registry).warnings).toEqual([]);
  });

  describe("a field that must be one reference to a secret", () => {
    const agent = (apiKey: Json) =>
      testNode("Agent", "Triage", {
        model: { provider: "anthropic", name: "m", apiKey },
        instructions: "Decide.",
      });
    const errorsOf = (apiKey: Json) =>
      validateFlow(testFlow([call, agent(apiKey)], ["call → triage"]), registry).errors;

    it.each(["{{ secrets.KEY }}", "{{secrets.KEY}}", "{{ secrets.KEY? }}"])("accepts %s", (key) => {
      expect(errorsOf(key)).toEqual([]);
    });

    it.each([
      "sk-plain",
      "Bearer {{ secrets.KEY }}",
      " {{ secrets.KEY }}",
      "{{ secrets.A }}{{ secrets.B }}",
      "{{ trigger.key }}",
      "\\{{ secrets.KEY }}",
      "{{ secrets.KEY",
      { key: "sk-plain" },
      ["sk-plain"],
      7,
    ])("rejects %j, and does not quote it in the message", (key) => {
      const errors = errorsOf(key).filter(({ code }) => code === "plain_secret");
      expect(errors).toEqual([
        {
          code: "plain_secret",
          nodeId: "triage",
          path: "model.apiKey",
          message:
            "Triage: model.apiKey: must be one reference to a secret, such as {{ secrets.API_KEY }}, because everybody who can read the flow could read the value; store it with PUT /api/secrets/API_KEY",
          problem:
            "must be one reference to a secret, such as {{ secrets.API_KEY }}, because everybody who can read the flow could read the value; store it with PUT /api/secrets/API_KEY",
        },
      ]);
    });

    it.each(["", null])("reports %j only as a violation of the config schema", (key) => {
      expect(errorsOf(key).map(({ code }) => code)).toEqual(["invalid_config"]);
    });
  });

  const warningsFor = (url: string, parameters: JsonObject = {}) =>
    warnings(
      testFlow(
        [
          call,
          testNode("HttpRequest", "Send", {
            url,
            headers: { authorization: "Bearer {{ secrets.KEY }}" },
            ...parameters,
          }),
        ],
        ["call → send"],
      ),
    );

  it.each([
    "{{ trigger.x }}",
    "https://{{ trigger.x }}/path",
    "https://api.{{ trigger.x }}",
    "https://example.com{{ trigger.x }}",
    "https://example.com:{{ trigger.x }}/",
    "https://{{ trigger.x }}@example.com/",
  ])("cause a warning if a template sets the host: %s", (url) => {
    expect(warningsFor(url)).toEqual([
      {
        code: "secret_to_any_host",
        nodeId: "send",
        path: "url",
        message:
          "Send: url: a template sets the host that receives secrets.KEY; write a fixed host",
        problem: "a template sets the host that receives secrets.KEY; write a fixed host",
      },
    ]);
  });

  it.each([
    "https://example.com",
    "https://example.com/{{ trigger.x }}",
    "https://example.com?q={{ trigger.x }}",
    "https://example.com:8443/v1/{{ trigger.x }}",
  ])("cause no warning if the host is fixed: %s", (url) => {
    expect(warningsFor(url)).toEqual([]);
  });

  it("cause a warning only if the request contains them", () => {
    expect(warningsFor("{{ trigger.x }}", { headers: {} })).toEqual([]);
    const auth = { type: "bearer", token: "{{ secrets.KEY }}" };
    expect(codes(warningsFor("{{ trigger.x }}", { headers: {}, auth }))).toEqual([
      "secret_to_any_host",
    ]);
  });
});

describe("a call of a flow", () => {
  const weather = testTool("Get weather");
  const off = testTool("Off", { isActive: false });
  const push = testNode("Event", "Push", { source: "github" });
  const calls = {
    id: "self",
    flows: new Map([
      ["weather", { name: "Weather", triggers: [weather, off] }],
      ["events", { name: "Events", triggers: [off, push] }],
      ["several", { name: "Several", triggers: [weather, call] }],
      ["draft", { name: "Draft", triggers: undefined }],
    ]),
  };
  const warningsFor = (flow: string, trigger: string) =>
    validateFlow(
      testFlow(
        // Only the flow that calls itself is called without parameters.
        [
          flow === "self" ? testTool("Call") : call,
          testNode("CallFlow", "Ask", { flow, ...(trigger && { trigger }) }),
        ],
        ["call → ask"],
      ),
      registry,
      { calls },
    ).warnings;

  it.each([
    ["weather", "get_weather", []],
    ["weather", "{{ trigger.x }}", []],
    ["{{ trigger.x }}", "any", []],
    ["weather", "", []],
    ["events", "", ["inactive_trigger: Ask: flow: Events has no active tool"]],
    [
      "several",
      "",
      [
        "no_such_trigger: Ask: trigger: is missing: Several has several active tools: get_weather, call",
      ],
    ],
    ["ghost", "any", ["no_such_flow: Ask: flow: there is no flow ghost"]],
    ["draft", "any", ["not_published: Ask: flow: Draft is not published yet"]],
    [
      "weather",
      "ghost",
      ["no_such_trigger: Ask: trigger: the published version of Weather has no trigger ghost"],
    ],
    [
      "weather",
      "off",
      ["inactive_trigger: Ask: trigger: the trigger Off of Weather is not active"],
    ],
    [
      "self",
      "call",
      [
        "calls_itself: Ask: flow: refers to this flow; the recursion ends at the limit SIGNALBOX_MAX_CHAIN",
      ],
    ],
  ])("with the id %s and the trigger %s has the warnings %j", (flow, trigger, expected) => {
    expect(warningsFor(flow, trigger).map(({ code, message }) => `${code}: ${message}`)).toEqual(
      expected,
    );
  });

  it("that calls itself with an unknown trigger has both warnings", () => {
    expect(codes(warningsFor("self", "ghost"))).toEqual(["calls_itself", "no_such_trigger"]);
  });

  describe("with an input", () => {
    const forecast = (name: string, ...parameters: JsonObject[]) =>
      testTool(name, { parameters: [{ name: "city" }, ...parameters] });
    const withDays = forecast("Get weather", { name: "days", type: "integer", default: 3 });
    const withUnit = forecast("Get weather", { name: "unit", enum: ["C"], format: "email" });
    const called = new Map([
      ["weather", { name: "Weather", triggers: [withDays], draftTriggers: [withUnit] }],
      ["draft", { name: "Draft", triggers: undefined, draftTriggers: [withDays] }],
      ["event", { name: "Event", triggers: [push] }],
    ]);
    const warningsOf = (flow: string, input?: JsonObject, trigger?: string) => {
      const parameters = { flow, ...(input && { input }), ...(trigger && { trigger }) };
      const ask = testNode("CallFlow", "Ask", parameters);
      const flows = { id: "self", flows: called };
      return validateFlow(testFlow([call, ask], ["call → ask"]), registry, {
        calls: flows,
      }).warnings.filter(({ code }) => code !== "calls_itself");
    };
    const textsOf = (...call: Parameters<typeof warningsOf>) =>
      warningsOf(...call).map(({ code, message }) => `${code}: ${message}`);
    const must = "must match the parameters of Get weather in Weather";

    it.each<[JsonObject | undefined, string[]]>([
      [{ city: "Bern", days: 1 }, []],
      [{ city: "{{ trigger.city }}", days: "{{ trigger.x }}" }, []],
      [undefined, [`input: missing required property "city": ${must}`]],
      [
        { town: "{{ trigger.x }}" },
        [
          `input: missing required property "city": ${must}`,
          `input.town: unexpected property: ${must}`,
        ],
      ],
      [
        { city: "Bern", days: "many" },
        [`input.days: must be an integer, but is a string: ${must}`],
      ],
    ])("%j has the warnings %j", (input, expected) => {
      for (const trigger of [undefined, "get_weather"]) {
        const warnings = warningsOf("weather", input, trigger);
        expect(warnings.map(({ message }) => message)).toEqual(
          expected.map((message) => `Ask: ${message}`),
        );
        expect(warnings.every(preventsPublishing)).toBe(true);
      }
    });

    it("that only the draft of the called flow accepts does not prevent publishing", () => {
      const input = { city: "Bern", unit: "C" };
      expect(textsOf("weather", input)).toEqual([
        "not_published: Ask: input.unit: unexpected property: matches only the draft of Weather, which is not published yet",
      ]);
      expect(warningsOf("weather", input).some(preventsPublishing)).toBe(false);
    });

    it("is compared with the draft of a flow that is not published", () => {
      expect(textsOf("draft", { city: "Bern" })).toEqual([
        "not_published: Ask: flow: Draft is not published yet",
      ]);
      expect(codes(warningsOf("draft"))).toEqual(["not_published", "invalid_call"]);
    });

    it("is compared with the parameters of this flow if it calls itself", () => {
      expect(textsOf("self", { city: "a" }, "call")).toEqual([
        'invalid_call: Ask: input: missing required property "x": must match the parameters of Call in this flow',
      ]);
    });

    it("is not checked if a trigger without parameters or a template is called", () => {
      expect(warningsOf("event", { any: 1 }, "push")).toEqual([]);
      expect(warningsOf("weather", {}, "{{ trigger.x }}")).toEqual([]);
    });
  });

  it("is not checked without information about other flows", () => {
    const ask = testNode("CallFlow", "Ask", { flow: "ghost", trigger: "x" });
    expect(warnings(testFlow([call, ask], ["call → ask"]))).toEqual([]);
  });
});

it("reports the syntax error of code on its node and field", () => {
  const flow = testFlow([call, testNode("Code", "Count", { code: "return (" })], ["call → count"]);
  const findSyntaxError = (code: string) => (code === "return (" ? "SyntaxError: x" : undefined);
  expect(validateFlow(flow, registry, { findSyntaxError }).errors).toEqual([
    {
      code: "invalid_config",
      nodeId: "count",
      path: "code",
      message: "Count: code: SyntaxError: x",
      problem: "SyntaxError: x",
    },
  ]);
});

it("reports an unknown node only once if a text repeats the reference", () => {
  const text = "{{ gone.a }} ".repeat(3);
  const flow = testFlow([call, node("Fetch", { text }), end()], ["call → fetch", "fetch → end"]);
  expect(codes(errors(flow))).toEqual(["dangling_reference"]);
});

describe("two results", () => {
  const decide = testNode("Condition", "Decide", { conditions: [{ left: 1, op: "eq", right: 1 }] });
  const warningsFor = (edges: string[], ...nodes: FlowDraft["nodes"]) =>
    warnings(testFlow([call, decide, ...nodes, end("One"), end("Two")], edges)).filter(
      ({ code }) => code === "two_returns",
    );

  it("cause one warning for each result after the first", () => {
    const results = Array.from({ length: 400 }, (_, index) => end(`R${index}`));
    const edges = results.map(({ id }) => `decide:true → ${id}`);
    expect(warningsFor(["call → decide", ...edges], ...results)).toHaveLength(399);
  });

  it("cause a warning on parallel branches", () => {
    expect(warningsFor(["call → decide", "decide:true → one", "decide:true → two"])).toEqual([
      {
        code: "two_returns",
        nodeId: "two",
        message: "Two: one run can reach this node and One, but a run has only one result",
        problem: "one run can reach this node and One, but a run has only one result",
      },
    ]);
  });

  it("cause no warning on the two branches of a condition", () => {
    expect(warningsFor(["call → decide", "decide:true → one", "decide:false → two"])).toEqual([]);
  });

  it("cause no warning if parallel branches join before the condition", () => {
    const edges = ["call → a", "call → b", "a → decide", "b → decide"];
    expect(
      warningsFor([...edges, "decide:true → one", "decide:false → two"], node("A"), node("B")),
    ).toEqual([]);
  });

  it("cause a warning if a branch bypasses the condition", () => {
    const edges = ["call → a", "call → decide", "a → two", "decide:true → one"];
    expect(warningsFor(edges, node("A"))).toHaveLength(1);
  });

  it("cause no warning if one of them is on the error branch", () => {
    expect(warningsFor(["call → a", "a → one", "a:error → two"], node("A"))).toEqual([]);
  });

  it("cause a warning inside a loop, but not if one is inside and one after the loop", () => {
    const loop = testNode("Loop", "Each");
    expect(warningsFor(["call → each", "each:item → one", "each:item → two"], loop)).toHaveLength(
      1,
    );
    expect(warningsFor(["call → each", "each:item → one", "each:done → two"], loop)).toEqual([]);
  });

  it("cause no warning if different triggers lead to them", () => {
    const flow = testFlow(
      [testTool("A"), testTool("B"), end("One"), end("Two")],
      ["a → one", "b → two"],
    );
    expect(warnings(flow)).toEqual([]);
  });
});
