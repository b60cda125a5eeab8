import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { describe, expect, it } from "vitest";
import { importFlow } from "./import-flow.ts";

const intent = { id: "u1", type: "UserIntent", name: "Ask", parameters: {} };
const apiCall = (parameters: JsonObject = {}, id = "api1") => ({
  id,
  type: "ApiCall",
  name: "Fetch",
  parameters: { method: "GET", url: "https://example.com", ...parameters },
});
const returnNode = (text: Json) => ({
  id: "r1",
  type: "Return",
  name: "Answer",
  parameters: { text },
});

/** Imports the nodes of a legacy flow. */
function convert(nodes: Json[], triggerOf?: (flow: string) => string | undefined) {
  let count = 0;
  const input = { name: "x", nodes, connections: [] };
  const imported = importFlow(input, { newId: () => `new-${++count}`, triggerOf });
  if (imported.outcome !== "imported") throw new Error(JSON.stringify(imported.errors));
  return { nodes: imported.flow.nodes, notes: imported.notes };
}
const parametersOf = (...nodes: Json[]) => convert(nodes).nodes.at(-1)?.parameters;
const convertTemplate = (text: string, ...nodes: Json[]) =>
  parametersOf(...nodes, returnNode(text))?.value;

describe("an ApiCall", () => {
  it("becomes an HttpRequest", () => {
    const headers = [
      { key: " Accept ", value: "text/plain" },
      { key: "", value: "not sent" },
      { key: "X-Id", value: "{{u1.id}}" },
    ];
    const call = apiCall({ method: "post", headers, timeout: 1500.5, inputMappings: [] });
    const { nodes, notes } = convert([intent, { ...call }]);
    expect(nodes[1]).toMatchObject({ id: "api1", type: "HttpRequest", slug: "fetch" });
    expect(nodes[1]?.parameters).toEqual({
      method: "POST",
      url: "https://example.com",
      headers: { Accept: "text/plain", "X-Id": "{{ ask.id? }}" },
      timeoutMs: 1501,
    });
    expect(notes).toEqual([]);
  });

  it("reports values without an equivalent", () => {
    const mapping = { sourceNodeId: "u1", sourcePath: "x", targetField: "url" };
    const { nodes, notes } = convert([
      apiCall({ timeout: 900_000, inputMappings: [mapping] }),
      returnNode("{{api1.success}}"),
    ]);
    expect(nodes[0]?.parameters).toMatchObject({ timeoutMs: 300_000 });
    expect(notes).toEqual([
      expect.stringMatching(/^Fetch: inputMappings: \[\{"sourceNodeId":"u1".* was ignored/),
      "Fetch: timeout: was 900000; it is now 300000, the maximum.",
      "Answer: {{api1.success}} has no equivalent in the output of Fetch.",
    ]);
  });

  it("keeps missing parameters missing, and unknown parameters unchanged", () => {
    expect(parametersOf(apiCall({ url: null, timeout: 0, headers: null, method: null }))).toEqual(
      {},
    );
    expect(parametersOf(apiCall({ body: 5 }))).toMatchObject({ body: 5 });
  });
});

describe("a CallFlow", () => {
  const call = (parameters: JsonObject) => ({
    id: "c1",
    type: "CallFlow",
    name: "Call",
    parameters,
  });

  it("calls the target flow with the mapped input", () => {
    const parameters = { targetFlowId: "weather", inputMapping: { city: "{{u1.city}}" } };
    expect(parametersOf(intent, call(parameters))).toEqual({
      flow: "weather",
      input: { city: "{{ ask.city? }}" },
    });
    expect(parametersOf(call({ targetFlowId: 7 }))).toEqual({ flow: "7" });
    expect(parametersOf(call({ targetFlowId: null, inputMapping: {} }))).toEqual({ input: {} });
  });

  it("starts the first tool of a flow with several tools", () => {
    const { nodes } = convert([call({ targetFlowId: "a" })], (flow) => `first of ${flow}`);
    expect(nodes[0]?.parameters).toEqual({ flow: "a", trigger: "first of a" });
  });

  it("stays unchanged if it is in the current format", () => {
    const parameters = { flow: "a", trigger: "b", input: {} };
    expect(parametersOf(call(parameters))).toEqual(parameters);
  });

  it("has the result itself as its output", () => {
    expect(convertTemplate("{{c1.result.text}}", call({ targetFlowId: "a" }))).toBe(
      "{{ call.text? }}",
    );
  });
});

describe("a JavaScriptCodeTransform", () => {
  const code = (text: string) => ({
    id: "j1",
    type: "JavaScriptCodeTransform",
    name: "Compute",
    parameters: { code: text, resolvedOutputSchema: null },
  });

  it.each([
    ["return input;", "return input;"],
    ["function f(input) { return 1 }", "function f(input) { return 1 }\nreturn f(input);"],
    [
      "const f = (input) => {\n  return 1;\n};",
      "const f = (input) => {\n  return 1;\n};\nreturn f(input);",
    ],
    ["function f() {}\nreturn f();", "function f() {}\nreturn f();"],
    ["return `{{u1.x}}`", "return `{{u1.x}}`"],
  ])("becomes a Code node: %j", (before, after) => {
    const { nodes } = convert([intent, code(before)]);
    expect(nodes[1]).toMatchObject({
      type: "Code",
      parameters: { code: after, timeoutMs: 2000 },
    });
  });

  it("has the returned value as its output", () => {
    expect(convertTemplate("{{j1._value}} {{j1.a}}", code("return 1"))).toBe(
      "{{ compute? }} {{ compute.a? }}",
    );
  });
});

describe("a reference", () => {
  it.each([
    ["{{api1.body.ok}}", "{{ fetch.body.ok? }}"],
    ["a {{ api1.status }} b {{api1}}", "a {{ fetch.status? }} b {{ fetch? }}"],
    ["{{api1.body.list.0.first name}}", '{{ fetch.body.list.0["first name"]? }}'],
    ["{{api1.body.list[0].id?}}", "{{ fetch.body.list[0].id? }}"],
    ["{{ghost.x}}", "{{ghost.x}}"],
    ["{{ trigger.x }} {{ secrets.KEY }}", "{{ trigger.x }} {{ secrets.KEY }}"],
    ["{{ }} {{{api1.x}}}", "{{ }} {{{ fetch.x? }}}"],
  ])("%s becomes %s", (before, after) => {
    expect(convertTemplate(before, apiCall())).toBe(after);
  });

  it("is converted if it contains an id that starts with a digit", () => {
    const id = "3f2b8c1e-5d6a-4b7c-9e8f-0a1b2c3d4e5f";
    expect(convertTemplate(`{{${id}.body}}`, apiCall({}, id))).toBe("{{ fetch.body? }}");
  });

  it("is read as an id, unless a node has it as its slug", () => {
    const other = { ...apiCall({}, "x"), name: "api1" };
    expect(convertTemplate("{{api1.body}}", apiCall(), other)).toBe("{{ fetch.body? }}");
    expect(convertTemplate("{{api1.body}}", apiCall(), { ...other, slug: "api1" })).toBe(
      "{{ api1.body? }}",
    );
  });

  it("stays unchanged if it is to a UserIntent node with the id `trigger`", () => {
    expect(convertTemplate("{{trigger.x}}", { ...intent, id: "trigger" })).toBe("{{trigger.x}}");
    expect(convertTemplate("{{trigger.body}}", apiCall({}, "trigger"))).toBe("{{ fetch.body? }}");
  });
});

it("keeps nodes of types without an equivalent", () => {
  const table = { id: "i1", type: "Interface", name: "Table", parameters: { layoutTemplate: "x" } };
  expect(convert([table])).toMatchObject({ nodes: [table], notes: [] });
});

it("keeps a Return without text, or with a value", () => {
  const returnWith = (parameters: JsonObject) => ({ ...returnNode(""), parameters });
  expect(parametersOf(returnWith({}))).toEqual({});
  expect(parametersOf(returnWith({ text: "" }))).toEqual({ value: "" });
  expect(parametersOf(returnWith({ text: "a", value: 1 }))).toEqual({ text: "a", value: 1 });
});

it("does not change flows in the current format", () => {
  const nodes = [{ ...apiCall(), slug: "api1" }, returnNode("{{ api1.x }}")];
  const imported = importFlow({ name: "x", nodes, edges: [] }, { newId: () => "new" });
  expect(imported).toMatchObject({
    flow: { nodes: [{ type: "ApiCall" }, { parameters: { text: "{{ api1.x }}" } }] },
  });
});

it("converts the handles of the legacy system to ports", () => {
  const connect = (sourceHandle: Json, targetHandle: Json) => ({
    sourceNodeId: "u1",
    sourceHandle,
    targetNodeId: "r1",
    targetHandle,
  });
  const edges = (...connections: Json[]) => {
    const imported = importFlow(
      { name: "x", nodes: [intent, returnNode("")], connections },
      { newId: () => "new" },
    );
    if (imported.outcome !== "imported") throw new Error("not imported");
    return imported.flow.edges.map(({ sourceHandle, targetHandle }) => [
      sourceHandle,
      targetHandle,
    ]);
  };
  expect(
    edges(connect("main", "input"), connect("output", "input"), connect("right", "left")),
  ).toEqual(Array(3).fill(["out", "in"]));
  expect(edges(connect("action:submit", "main"), connect("true", null))).toEqual([
    ["action:submit", "in"],
    ["true", "in"],
  ]);
});
