import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json.ts";
import type { ToolContext } from "./node-schemas.ts";
import type { ConnectionTrigger } from "./node-type.ts";
import { nodeTypes } from "./nodes/index.ts";
import { testFlow, testNode } from "./test-flow.ts";
import { preventsPublishing, validateFlow } from "./validate.ts";
import { validateInProcess } from "./validate-schema.ts";

const CITY = { type: "string", enum: ["Rome", "Oslo"] };
const connection = { name: "Weather", error: null, tools: new Map(), triggers: new Map() };
const sun: ConnectionTrigger = {
  paramsSchema: {
    city: { ...CITY, required: true },
    unit: { type: "string" },
    either: { type: "string" },
  },
  inputSchema: {
    type: "object",
    properties: {
      city: CITY,
      unit: { type: "string" },
      days: { type: "array", items: { enum: [1, 2] } },
      level: { $ref: "#/$defs/level" },
      hours: { type: "array", items: { type: "integer" } },
      either: { anyOf: [{ type: "integer" }, { type: "boolean" }] },
    },
    required: ["city"],
    $defs: { level: { type: "integer", minimum: 1 } },
  },
};
const tools: ToolContext = {
  connections: new Map([
    [
      "weather-7kq2xv",
      {
        ...connection,
        tools: new Map([
          ["list", { name: "list", description: "", inputSchema: { required: ["since"] } }],
        ]),
        triggers: new Map<string, ConnectionTrigger>([
          ["sun", sun],
          ["any", { paramsSchema: {}, inputSchema: { type: "object", properties: {} } }],
          ["open", { ...sun, inputSchema: { ...sun.inputSchema, additionalProperties: true } }],
          [
            "payload",
            {
              ...sun,
              payloadSchema: {
                type: "object",
                properties: {
                  place: { type: "object", properties: { zip: { type: "string" } } },
                  tags: { type: "array", items: { type: "string" } },
                },
              },
            },
          ],
        ]),
      },
    ],
    ["silent-2", { ...connection, name: "Silent" }],
    ["down-3", { ...connection, name: "Down", error: "ECONNREFUSED" }],
    ["new-4", { ...connection, name: "New", tools: undefined, triggers: undefined }],
  ]),
  senders: new Set(["github", "signalbox", "endpoint-1"]),
  findError: validateInProcess,
};

const validate = (parameters: JsonObject, context = tools) => {
  const on = testNode("Event", "On", parameters);
  const end = testNode("Return", "End", { value: "done" });
  return validateFlow(testFlow([on, end], ["on → end"]), nodeTypes, { tools: context });
};
const onWeather = (fields: JsonObject) => ({ source: "weather-7kq2xv", type: "sun", ...fields });
const inRome = (params: JsonObject) => onWeather({ params: { city: "Rome", ...params } });
/** Returns the warnings, and expects that there are no errors. */
const warningsOf = (parameters: JsonObject, context = tools) => {
  const { errors, warnings } = validate(parameters, context);
  expect(errors).toEqual([]);
  return warnings.map(({ code, path, message }) => [code, path, message.replace("On: ", "")]);
};
const canBePublished = (parameters: JsonObject) => {
  const { errors, warnings } = validate(parameters);
  return errors.length === 0 && !warnings.some(preventsPublishing);
};

describe("the source of an event trigger", () => {
  it.each(["github", "signalbox", "endpoint-1"])("can be %s", (source) => {
    expect(warningsOf({ source, type: "x", params: { a: "b" } })).toEqual([]);
  });

  it("causes a warning if it is unknown, but does not prevent publishing", () => {
    const parameters = { source: "weather-typo", type: "sun" };
    expect(warningsOf(parameters)).toEqual([
      [
        "no_such_source",
        "source",
        "source: there is no connection or webhook endpoint weather-typo, and no kind of sender with this name, so the trigger never fires; GET /api/connections and GET /api/sources list the ids",
      ],
    ]);
    expect(canBePublished(parameters)).toBe(true);
  });

  it.each([
    ["down-3", "connection_failed"],
    ["new-4", "connection_not_checked"],
  ])("can be the connection %s in a published flow, with the warning %s", (source, code) => {
    const parameters = { source, type: "sun", params: { city: "?" } };
    expect(warningsOf(parameters).map(([warningCode]) => warningCode)).toEqual([code]);
    expect(canBePublished(parameters)).toBe(true);
  });
});

describe("the type of a connection's trigger", () => {
  it.each([
    onWeather({ params: { city: "Oslo" } }),
    { source: "weather-7kq2xv", params: { city: "Oslo" } },
  ])("causes no warning with the parameters %j", (parameters) => {
    expect(warningsOf(parameters)).toEqual([]);
  });

  it("causes a warning if the server does not offer it", () => {
    const parameters = onWeather({ type: "rain" });
    expect(warningsOf(parameters)).toEqual([
      [
        "no_such_event_type",
        "type",
        "type: Weather has no trigger rain; it has sun, any, open, payload",
      ],
    ]);
    expect(canBePublished(parameters)).toBe(true);
  });

  it("causes a warning if it is omitted, and types require params", () => {
    expect(warningsOf({ source: "weather-7kq2xv", params: { unit: "C" } })).toEqual([
      [
        "missing_param",
        "type",
        "type: without a type, the trigger subscribes to every type, but Weather requires params for sun (city), open (city), payload (city). Choose a type, or set these params",
      ],
    ]);
  });

  it("causes a warning if the server has no triggers and the trigger does not poll", () => {
    expect(warningsOf({ source: "silent-2" })).toEqual([
      [
        "no_such_event_type",
        "source",
        "source: Silent has no triggers, so no events arrive; set poll to call one of its tools",
      ],
    ]);
  });
});

describe("params of a connection's trigger", () => {
  it("can be conditions, and can be blank", () => {
    const params = { unit: { op: "glob", value: "C*" }, days: { op: "in", value: ["1", 2] } };
    expect(warningsOf(inRome({ ...params }))).toEqual([]);
    expect(warningsOf(inRome({ unit: "", days: null }))).toEqual([]);
    expect(warningsOf(inRome({ days: "2" }))).toEqual([]);
  });

  it.each([
    ["level", "abc", '"abc" is invalid: must be an integer, but is a string'],
    ["level", "0", '"0" is invalid: must be at least 1, but is 0'],
    ["hours", "noon", '"noon" is invalid: must be an integer, but is a string'],
    [
      "either",
      "maybe",
      '"maybe" is invalid: must be an integer, but is a string, or must be a boolean, but is a string',
    ],
    ["city", "Bonn", '"Bonn" is not one of "Rome", "Oslo"'],
  ])(
    "prevent publishing if the server gets a value that does not match the schema of %s: %j",
    (name, param, message) => {
      const path = `params.${name}`;
      expect(validate(inRome({ [name]: param }))).toEqual({
        errors: [
          {
            code: "invalid_config",
            nodeId: "on",
            path,
            message: `On: ${path}: ${message}`,
            problem: `${message}`,
          },
        ],
        warnings: [],
      });
    },
  );

  it.each([
    [
      "level",
      { op: "in", value: ["2", "x"] },
      '"x" is invalid: must be an integer, but is a string',
    ],
    ["hours", [1, "noon"], '"noon" is invalid: must be an integer, but is a string'],
  ])(
    "cause a warning if a condition does not match the schema of %s: %j",
    (name, param, message) => {
      const parameters = inRome({ [name]: param });
      expect(warningsOf(parameters)).toEqual([
        ["invalid_param_value", `params.${name}`, `params.${name}: ${message}`],
      ]);
      expect(canBePublished(parameters)).toBe(true);
    },
  );

  it.each([
    { level: "7" },
    { level: 7 },
    { level: { op: "gt", value: "x" } },
    { unit: 7 },
    { hours: [1, "2"] },
    { either: "5" },
    { either: "true" },
  ])("match a schema as strings, numbers and booleans: %j", (params) =>
    expect(warningsOf(inRome(params))).toEqual([]),
  );

  it.each([
    ["days", { op: "in", value: [2, 3, 4] }, "3, 4 is not one of 1, 2"],
    ["days", { op: "ne", value: 7 }, "7 is not one of 1, 2"],
  ])(
    "cause a warning if a value of a condition is not in the enum of %s: %j",
    (name, param, message) => {
      const parameters = inRome({ [name]: param });
      expect(warningsOf(parameters)).toEqual([
        ["invalid_param_value", `params.${name}`, `params.${name}: ${message}`],
      ]);
      expect(canBePublished(parameters)).toBe(true);
    },
  );

  it("cause a warning if the server does not declare them", () => {
    const parameters = inRome({ contry: "IT" });
    expect(warningsOf(parameters)).toEqual([
      [
        "no_such_param",
        "params.contry",
        "params.contry: the trigger sun of Weather has no such param; it has city, unit, either, days, level, hours. Only the hub compares this param with the event's data",
      ],
    ]);
    expect(canBePublished(parameters)).toBe(true);
  });

  it.each([
    ["the server declares no params", "any", "place.zip"],
    ["its schema allows additional properties", "open", "place.zip"],
    ["they are fields of the payload", "payload", "place.zip"],
    ["they are items of the payload", "payload", "tags[]"],
  ])("can have other names if %s", (_, type, name) => {
    expect(warningsOf(onWeather({ type, params: { city: "Rome", [name]: "1" } }))).toEqual([]);
  });

  it.each([{}, { city: " " }])("cause a warning if a required one is missing: %j", (params) => {
    const parameters = onWeather({ params });
    expect(warningsOf(parameters)).toEqual([
      ["missing_param", "params.city", "params.city: the trigger sun of Weather requires it"],
    ]);
    expect(canBePublished(parameters)).toBe(true);
  });

  it("cause a warning if a required one is a condition, which the server does not get", () => {
    expect(warningsOf(onWeather({ params: { city: { op: "ne", value: "Rome" } } }))).toEqual([
      [
        "missing_param",
        "params.city",
        "params.city: the trigger sun of Weather requires it, and a server gets only plain values; write a plain value",
      ],
    ]);
  });
});

describe("params with a default", () => {
  const withDefault = (omittedParams: Partial<ConnectionTrigger>): ToolContext => {
    const area = { type: "string", enum: ["ui", "api"], default: "ui" };
    const change: ConnectionTrigger = {
      paramsSchema: { area },
      inputSchema: { type: "object", properties: { area } },
      ...omittedParams,
    };
    const connections = new Map([
      ["weather-7kq2xv", { ...connection, triggers: new Map([["sun", change]]) }],
    ]);
    return { ...tools, connections };
  };
  const anyOf = { op: "in", value: ["ui", "api"] };

  it.each([[{}], [{ area: " " }], [{ area: anyOf }], [{ area: { op: "exists", value: true } }]])(
    "cause a warning if the hub does not send them: %j",
    (params) => {
      expect(warningsOf(onWeather({ params }), withDefault({}))).toEqual([
        [
          "assumed_default",
          "params.area",
          'params.area: the server may assume "ui", because the hub sends only plain values; if so, no other events arrive. Write the value that you need',
        ],
      ]);
      expect(warningsOf(onWeather({ params }), withDefault({ omittedParams: "any" }))).toEqual([]);
    },
  );

  it("cause a warning too if the trigger has no type", () => {
    expect(
      warningsOf({ source: "weather-7kq2xv", params: {} }, withDefault({})).map(([code]) => code),
    ).toEqual(["assumed_default"]);
  });

  it.each([[{ area: "api" }], [{ area: { op: "eq", value: "ui" } }]])(
    "cause none if no other events are wanted, or the hub sends them: %j",
    (params) => expect(warningsOf(onWeather({ params }), withDefault({}))).toEqual([]),
  );
});

describe("a trigger that polls", () => {
  const polling = (source: string, poll: JsonObject = {}) => ({
    source,
    type: "item",
    params: { contry: "IT" },
    poll: { tool: "list", key: "id", arguments: { since: 1 }, ...poll },
  });

  it("has no findings if the tool exists", () => {
    expect(warningsOf(polling("weather-7kq2xv"))).toEqual([]);
  });

  it("cannot be published if the tool does not exist", () => {
    const parameters = polling("weather-7kq2xv", { tool: "lst" });
    expect(warningsOf(parameters)).toEqual([
      ["no_such_tool", "poll.tool", "poll.tool: Weather has no tool lst; it has list"],
    ]);
    expect(canBePublished(parameters)).toBe(false);
  });

  it("has an error if the arguments are wrong", () => {
    expect(validate(polling("weather-7kq2xv", { arguments: {} }))).toMatchObject({
      errors: [{ code: "invalid_arguments", path: "poll.arguments" }],
      warnings: [],
    });
  });

  it.each(["github", "endpoint-1"])("has an error if its source is %s", (source) => {
    expect(validate(polling(source))).toEqual({
      errors: [
        {
          code: "invalid_config",
          nodeId: "on",
          path: "poll",
          message: `On: poll: ${source} is not a connection, so it has no tools; remove poll, or choose a connection as the source`,
          problem: `${source} is not a connection, so it has no tools; remove poll, or choose a connection as the source`,
        },
      ],
      warnings: [],
    });
  });

  it("has one warning if its source is unknown", () => {
    expect(warningsOf(polling("typo")).map(([code, path]) => [code, path])).toEqual([
      ["no_such_source", "source"],
    ]);
  });

  it.each(["down-3", "new-4"])("has one warning about the connection %s", (source) => {
    expect(warningsOf(polling(source))).toHaveLength(1);
  });
});
