import { describe, expect, it } from "vitest";
import type { JsonObject, JsonSchema } from "../json.ts";
import type { ToolContext } from "./node-schemas.ts";
import { nodeTypes } from "./nodes/index.ts";
import { outputSchemaOf } from "./output-schema.ts";
import { testFlow, testNode, testTool } from "./test-flow.ts";
import { preventsPublishing, validateFlow } from "./validate.ts";
import { validateInProcess } from "./validate-schema.ts";

const INPUT: JsonSchema = {
  type: "object",
  properties: {
    city: { $ref: "#/$defs/name" },
    days: { type: "integer", minimum: 1 },
    place: {
      type: "object",
      properties: { country: { $ref: "#/$defs/name" }, zip: { type: "string" } },
      required: ["country"],
      additionalProperties: false,
    },
  },
  required: ["city"],
  additionalProperties: false,
  $defs: { name: { type: "string", minLength: 2 } },
};
const OUTPUT: JsonSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: {
    degrees: { type: "number" },
    days: { type: "array", items: { $ref: "#/$defs/day" } },
  },
  required: ["degrees"],
  additionalProperties: false,
  $defs: {
    day: {
      type: "object",
      properties: { sun: { type: "boolean" } },
      additionalProperties: false,
    },
  },
};

const tool = (name: string, outputSchema?: JsonSchema) => ({
  name,
  description: "",
  inputSchema: INPUT,
  ...(outputSchema && { outputSchema }),
});
const checked = { error: null, triggers: undefined };
const tools: ToolContext = {
  connections: new Map([
    [
      "weather",
      {
        name: "Weather",
        ...checked,
        tools: new Map([
          ["get", tool("get", OUTPUT)],
          ["plain", tool("plain")],
        ]),
      },
    ],
    [
      "down",
      { ...checked, name: "Down", error: "ECONNREFUSED", tools: new Map([["get", tool("get")]]) },
    ],
    ["new", { ...checked, name: "New", tools: undefined }],
  ]),
  senders: new Set(),
  findError: validateInProcess,
};

const start = testTool("Ask", { parameters: [{ name: "x" }] });
const call = (parameters: JsonObject) =>
  testNode("CallTool", "Call", {
    connection: "weather",
    tool: "get",
    arguments: {},
    ...parameters,
  });
const end = (value: string) => testNode("Return", "End", { value });

const validate = (parameters: JsonObject, value = "done") =>
  validateFlow(
    testFlow([start, call(parameters), end(value)], ["ask → call", "call → end"]),
    nodeTypes,
    { tools },
  );
const messages = (findings: { message: string }[]) => findings.map(({ message }) => message);

describe("a tool that a node calls", () => {
  it("has no findings if the connection and the tool exist, and the arguments are valid", () => {
    expect(validate({ arguments: { city: "Bern", days: 2 } })).toEqual({
      errors: [],
      warnings: [],
    });
  });

  it("prevents publishing if the connection or the tool does not exist", () => {
    for (const [parameters, warning] of [
      [
        { connection: "gone" },
        {
          code: "no_such_connection",
          path: "connection",
          message: "Call: connection: there is no connection gone; add it, or choose another",
          problem: "there is no connection gone; add it, or choose another",
        },
      ],
      [
        { tool: "set" },
        {
          code: "no_such_tool",
          path: "tool",
          message: "Call: tool: Weather has no tool set; it has get, plain",
          problem: "Weather has no tool set; it has get, plain",
        },
      ],
    ] as const) {
      const { errors, warnings } = validate({ arguments: { city: "Bern" }, ...parameters });
      expect(errors).toEqual([]);
      expect(warnings).toEqual([{ ...warning, nodeId: "call" }]);
      expect(warnings.every(preventsPublishing)).toBe(true);
    }
  });

  it("does not prevent publishing if the connection fails or is not checked yet", () => {
    const down = validate({ connection: "down", arguments: { city: "Bern" } });
    const unchecked = validate({ connection: "new", arguments: { anything: 1 } });
    expect(messages([...down.warnings, ...unchecked.warnings])).toEqual([
      "Call: connection: the last check of Down failed: ECONNREFUSED",
      "Call: connection: New is not checked yet, so its tools and triggers are unknown",
    ]);
    expect([...down.errors, ...unchecked.errors]).toEqual([]);
    expect([...down.warnings, ...unchecked.warnings].some(preventsPublishing)).toBe(false);
  });

  it.each([
    ["connection", { connection: "{{ trigger.x }}" }],
    ["tool", { tool: "{{ trigger.x }}" }],
    ["tool", { tool: "get_{{ trigger.x }}" }],
  ])("has only a warning if a template sets the %s", (path, parameters) => {
    const { errors, warnings } = validate({ ...parameters, arguments: { anything: 1 } });
    expect(errors).toEqual([]);
    expect(warnings).toEqual([
      {
        code: "tool_from_data",
        nodeId: "call",
        path,
        message: `Call: ${path}: is a template, so the data of a run chooses which tool is called; write a fixed value if the data is untrusted`,
        problem: `is a template, so the data of a run chooses which tool is called; write a fixed value if the data is untrusted`,
      },
    ]);
    expect(warnings.some(preventsPublishing)).toBe(false);
    const flow = testFlow([start, call(parameters)], ["ask → call"]);
    expect(validateFlow(flow, nodeTypes).warnings).toEqual(warnings);
  });

  it("has a warning if a template sets a connection of an agent", () => {
    const agent = testNode("Agent", "Label", {
      model: { provider: "anthropic", name: "m" },
      instructions: "Label it.",
      tools: [{ connection: "{{ trigger.x }}", tools: ["get", "set"] }],
    });
    const flow = testFlow([start, agent], ["ask → label"]);
    expect(validateFlow(flow, nodeTypes, { tools }).warnings).toMatchObject([
      { code: "tool_from_data", path: "tools[0].connection" },
    ]);
  });

  it("is checked once for each connection and tool of an agent", () => {
    const agent = testNode("Agent", "Label", {
      model: { provider: "anthropic", name: "m" },
      instructions: "Label it.",
      tools: [
        { connection: "gone", tools: ["a", "b"] },
        { connection: "weather", tools: ["get", "set"] },
        { connection: "weather" },
      ],
    });
    const flow = testFlow([start, agent], ["ask → label"]);
    const { errors, warnings } = validateFlow(flow, nodeTypes, { tools });
    expect(errors).toEqual([]);
    expect(warnings.map(({ code, path }) => [code, path])).toEqual([
      ["no_such_connection", "tools[0].connection"],
      ["no_such_tool", "tools[1].tools[1]"],
    ]);
  });

  it("is not checked without information about connections", () => {
    const flow = testFlow([start, call({ connection: "gone" })], ["ask → call"]);
    expect(validateFlow(flow, nodeTypes)).toEqual({ errors: [], warnings: [] });
  });
});

describe("the arguments of a tool", () => {
  it.each<[string, JsonObject, string[]]>([
    ["a missing argument", {}, ['arguments: missing required property "city"']],
    ["a wrong type", { city: 7 }, ["arguments.city: must be a string, but is a number"]],
    ["an unknown argument", { city: "Bern", town: 1 }, ["arguments.town: unexpected property"]],
    [
      "a missing argument beside a template",
      { days: "{{ trigger.x }}" },
      ['arguments: missing required property "city"'],
    ],
    [
      "wrong and unknown arguments beside a template",
      { city: "{{ trigger.x }}", days: 0, town: "{{ trigger.x }}" },
      ["arguments.days: must be at least 1, but is 0", "arguments.town: unexpected property"],
    ],
    [
      "a definition that is used beside a template",
      { city: "B", days: "{{ trigger.x }}" },
      ["arguments.city: must have at least 2 characters, but has 1"],
    ],
    [
      "members of a nested object with a template",
      { city: "Bern", place: { zip: "{{ trigger.x }}", street: 1 } },
      [
        'arguments.place: missing required property "country"',
        "arguments.place.street: unexpected property",
      ],
    ],
    ["only templates", { city: "{{ trigger.x }}", days: "in {{ trigger.x }} days" }, []],
  ])("have the expected errors for %s", (_, args, expected) => {
    const { errors, warnings } = validate({ arguments: args });
    expect(messages(errors)).toEqual(expected.map((message) => `Call: ${message}`));
    expect(errors.every(({ code }) => code === "invalid_arguments")).toBe(true);
    expect(warnings).toEqual([]);
  });

  it("have no errors if the schema of the tool is invalid", () => {
    const connections = new Map(tools.connections);
    const broken = { ...tool("get"), inputSchema: { $ref: "#/nowhere" } };
    connections.set("weather", {
      ...checked,
      name: "Weather",
      tools: new Map([["get", broken]]),
    });
    const flow = testFlow([start, call({ arguments: { city: 1 } })], ["ask → call"]);
    const context = { tools: { ...tools, connections } };
    expect(validateFlow(flow, nodeTypes, context)).toEqual({ errors: [], warnings: [] });
  });
});

describe("the output of a tool", () => {
  const warnings = (value: string, parameters: JsonObject = {}) =>
    messages(validate({ arguments: { city: "Bern" }, ...parameters }, value).warnings);

  it("has a schema, and references to other fields cause a warning", () => {
    for (const value of [
      "{{ call }}",
      "{{ call.text }}",
      "{{ call.content[0].text }}",
      "{{ call.structured.degrees }}",
      "{{ call.structured.days[0].sun }}",
      "{{ call.error.message }}",
      "{{ call.nope? }}",
    ])
      expect(warnings(value)).toEqual([]);
    expect(warnings("{{ call.degrees }}")).toEqual([
      "End: value: {{ call.degrees }} has no field degrees: Call returns content, structured, text",
    ]);
    expect(warnings("{{ call.structured.degree }}")).toEqual([
      "End: value: {{ call.structured.degree }} has no field degree: Call returns degrees, days",
    ]);
    expect(warnings("{{ call.structured.days[0].rain }}")).toEqual([
      expect.stringContaining("has no field rain: Call returns sun"),
    ]);
    expect(warnings("{{ call.structured.degree }}", { tool: "plain" })).toEqual([]);
  });

  const outputSchema = (
    returnParameters: JsonObject,
    callParameters: JsonObject = {},
    edges: string[] = [],
  ) =>
    outputSchemaOf(
      testFlow(
        [start, call(callParameters), testNode("Return", "End", returnParameters)],
        ["ask → call", "call → end", ...edges],
      ),
      start,
      nodeTypes,
      { tools },
    );
  const { $schema: _, ...structured } = OUTPUT;

  it("determines the output schema of the flow's tool", () => {
    expect(outputSchema({ value: "{{ call.structured }}" })).toEqual(structured);
    expect(
      outputSchema({ value: { at: "{{ trigger.x }}", "a/b": "{{ call.structured }}" } }),
    ).toEqual({
      type: "object",
      properties: {
        at: {},
        "a/b": {
          ...structured,
          properties: {
            degrees: { type: "number" },
            days: { type: "array", items: { $ref: "#/properties/a~1b/$defs/day" } },
          },
        },
      },
      required: ["at", "a/b"],
    });
    expect(outputSchema({})).toMatchObject({
      properties: { structured: { properties: { degrees: { type: "number" } } } },
    });
  });

  it("determines no output schema if it may be an error, or the tool has no output schema", () => {
    expect(outputSchema({ value: "{{ call.structured }}" }, { tool: "plain" })).toBeUndefined();
    expect(outputSchema({}, { settings: { continueOnError: true } })).toBeUndefined();
    expect(outputSchema({}, {}, ["call:error → end"])).toBeUndefined();
    expect(outputSchema({ value: "{{ call.structured? }}" })).toBeUndefined();
  });
});
