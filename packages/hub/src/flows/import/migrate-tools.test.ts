import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { migrateApp, migrateTools } from "./migrate-tools.ts";

const tool = {
  toolName: "get_weather",
  toolDescription: "The weather of a city.",
  parameters: [{ name: "city", type: "string", required: true }],
  isActive: true,
};
const trigger = { id: "t", type: "UserIntent", name: "Ask", slug: "ask", position: { x: 1, y: 2 } };
const fetch = {
  id: "f",
  type: "HttpRequest",
  name: "Fetch",
  slug: "fetch",
  parameters: { url: "x" },
};
const end = { id: "r", type: "Return", name: "End", slug: "end", parameters: {} };

const createIdCounter = () => {
  let count = 0;
  return () => `new-${++count}`;
};
const migrate = (flow: JsonObject, takenNames: string[] = []) =>
  migrateTools(flow, createIdCounter(), new Set(takenNames));

describe("migrating a flow with a UserIntent node", () => {
  const legacy = {
    id: "flow",
    name: "Weather",
    ...tool,
    nodes: [fetch, { ...trigger, parameters: { nodeDescription: "kept" } }, end],
    connections: [{ sourceNodeId: "t", targetNodeId: "f" }],
    extra: { kept: true },
  };

  it("moves the tool to that node", () => {
    const { flow, changed, notes } = migrate(legacy);
    expect(changed).toBe(true);
    expect(notes).toEqual([]);
    expect(flow).toEqual({
      id: "flow",
      name: "Weather",
      nodes: [
        fetch,
        {
          ...trigger,
          parameters: { nodeDescription: "kept", ...tool, whenToUse: "", whenNotToUse: "" },
        },
        end,
      ],
      connections: legacy.connections,
      extra: { kept: true },
    });
  });

  it("changes nothing in a second migration", () => {
    const migrated = migrate(legacy).flow;
    expect(migrate(migrated)).toEqual({ flow: migrated, changed: false, notes: [] });
  });

  it("moves the tool to the first of several UserIntent nodes, and makes unnamed others inactive tools", () => {
    const second = { ...trigger, id: "u", name: "Ask again", slug: "ask_again" };
    const named = { ...second, id: "v", parameters: { toolName: "known", isActive: true } };
    const { flow, notes } = migrate({ ...legacy, nodes: [trigger, second, named] });
    expect(flow.nodes).toMatchObject([
      { id: "t", parameters: { toolName: "get_weather", isActive: true } },
      {
        id: "u",
        parameters: { toolName: "ask_again", toolDescription: "Ask again", isActive: false },
      },
      named,
    ]);
    expect(notes).toEqual([
      '"Ask again": is a second trigger; its tool is named ask_again and is not active.',
    ]);
  });

  it("keeps an inactive tool inactive", () => {
    const { flow } = migrate({ ...legacy, isActive: false });
    expect(flow.nodes).toMatchObject([{}, { parameters: { isActive: false } }, {}]);
  });

  it("reports replaced parameters of the node", () => {
    const existing = { ...trigger, parameters: { toolName: "half_done", whenToUse: "Always" } };
    const { flow, notes } = migrate({ ...legacy, nodes: [existing] });
    expect(flow.nodes).toMatchObject([
      { parameters: { toolName: "get_weather", whenToUse: "Always" } },
    ]);
    expect(notes).toEqual([
      'toolName: the trigger had "half_done"; the flow\'s "get_weather" replaces it.',
    ]);
  });

  it("keeps the node's values after an interrupted migration", () => {
    const migratedTrigger = { ...trigger, parameters: { ...tool, toolName: "kept_name" } };
    const { flow, notes } = migrate({ name: "Weather", isActive: true, nodes: [migratedTrigger] });
    expect(flow).toEqual({
      name: "Weather",
      nodes: [
        {
          ...trigger,
          parameters: { ...migratedTrigger.parameters, whenToUse: "", whenNotToUse: "" },
        },
      ],
    });
    expect(notes).toEqual([]);
  });
});

describe("migrating a flow whose triggers are already the tools", () => {
  const toolTrigger = (id: string, isActive?: boolean) => ({
    ...trigger,
    id,
    parameters: { toolName: id, toolDescription: "x", ...(isActive !== undefined && { isActive }) },
  });
  const activeStates = (flow: JsonObject) =>
    (migrate(flow).flow.nodes as JsonObject[]).map(
      ({ parameters }) => (parameters as JsonObject).isActive ?? true,
    );

  it("keeps tools active only if the flow was active", () => {
    const nodes = [toolTrigger("a"), toolTrigger("b", false), toolTrigger("c", true)];
    expect(activeStates({ name: "x", isActive: true, nodes })).toEqual([true, false, true]);
    expect(activeStates({ name: "x", isActive: false, nodes })).toEqual([false, false, false]);
    expect(migrate({ name: "x", isActive: false, nodes }).notes).toEqual([
      '"Ask": the flow was not active, so its tool is not active.',
    ]);
  });

  it("keeps an inactive first tool inactive", () => {
    expect(activeStates({ name: "x", isActive: true, nodes: [toolTrigger("a", false)] })).toEqual([
      false,
    ]);
  });

  it("adds no tool if the flow has no trigger", () => {
    const flow = { name: "x", nodes: [end] };
    expect(migrate({ ...flow, isActive: true })).toEqual({ flow, changed: true, notes: [] });
  });
});

describe("migrating a flow without a UserIntent node", () => {
  it("adds a trigger with the flow's name, connected to the nodes without an incoming edge", () => {
    const legacy = {
      name: "Get Weather Data",
      ...tool,
      nodes: [fetch, end],
      edges: [{ id: "e", source: "f", sourceHandle: "out", target: "r", targetHandle: "in" }],
    };
    const { flow, notes } = migrate(legacy);
    expect(flow).toEqual({
      name: "Get Weather Data",
      nodes: [
        fetch,
        end,
        {
          id: "new-1",
          type: "UserIntent",
          name: "Get Weather Data",
          slug: "get_weather_data",
          position: { x: 100, y: 100 },
          parameters: { ...tool, whenToUse: "", whenNotToUse: "" },
        },
      ],
      edges: [
        ...legacy.edges,
        { id: "new-2", source: "new-1", sourceHandle: "out", target: "f", targetHandle: "in" },
      ],
    });
    expect(notes).toEqual(["A new trigger is connected to f: these nodes had no incoming edge."]);
    expect(migrate(flow)).toEqual({ flow, changed: false, notes: [] });
  });

  it("connects the new trigger in the legacy format if the flow has connections", () => {
    const legacy = { name: "x", ...tool, nodes: [fetch], connections: [] };
    expect(migrate(legacy).flow.connections).toEqual([
      { sourceNodeId: "new-1", sourceHandle: "out", targetNodeId: "f", targetHandle: "in" },
    ]);
  });

  it("gives the new trigger an unused slug", () => {
    const { flow } = migrate({ name: "Fetch", ...tool, nodes: [fetch] });
    expect(flow.nodes).toMatchObject([{}, { slug: "fetch_2" }]);
  });
});

it.each<[string, Json]>([
  ["nodes", '[{"id":'],
  ["nodes", ""],
  ["nodes", null],
  ["nodes", { a: 1 }],
  ["connections", 5],
  ["edges", "no JSON"],
])("does not migrate a flow whose %s are %j", (field, value) => {
  const flow = { ...tool, name: "x", nodes: [end], [field]: value };
  expect(migrate(flow)).toEqual({ flow, changed: false, notes: [] });
});

describe("notes", () => {
  it.each<[string, JsonObject, JsonObject, string]>([
    ["an empty name", { toolName: "" }, { toolName: "ask" }, 'named ask after "Ask"'],
    ["null as a name", { toolName: null }, { toolName: "ask" }, "toolName: was missing"],
    ["a number as a name", { toolName: 7 }, { toolName: "ask" }, "toolName: was 7"],
    [
      "a name that breaks the rule",
      { toolName: "Get-Weather" },
      { toolName: "Get-Weather" },
      '"Get-Weather" is kept',
    ],
    [
      "a name that starts with a digit",
      { toolName: "123_go" },
      { toolName: "123_go" },
      '"123_go" is kept',
    ],
    [
      "an empty description",
      { toolDescription: " " },
      { toolDescription: "All about rain" },
      'was " "',
    ],
    [
      "parameters that are not an array",
      { parameters: "city" },
      { parameters: "city" },
      'parameters: "city" is neither a list of parameters nor a JSON Schema',
    ],
    ["a number as isActive", { isActive: 0 }, { isActive: false }, "was 0; it is now false"],
    [
      "a JSON Schema",
      { parameters: { properties: { a: { type: "number" }, b: true }, required: ["a"] } },
      {
        parameters: [
          { name: "a", type: "number", optional: false },
          { name: "b", schema: {}, optional: true },
        ],
      },
      "was a JSON Schema",
    ],
  ])("report %s", (_, change, expected, note) => {
    const legacy = {
      name: "W",
      description: "All about rain",
      ...tool,
      nodes: [trigger],
      ...change,
    };
    const { flow, notes } = migrate(legacy);
    expect(flow.nodes).toMatchObject([{ parameters: expected }]);
    expect(notes).toEqual([expect.stringContaining(note)]);
  });

  it("contain every value that is missing in the migrated flow", () => {
    const json = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>;
    const text = fc.string({ minLength: 3 }).map((word) => `§${word}`);
    const node = fc.oneof(
      json,
      fc.record({
        id: text,
        type: fc.constantFrom("UserIntent", "Return"),
        name: text,
        parameters: json,
      }),
    );
    const flow = fc.record(
      {
        name: fc.oneof(text, json),
        toolName: fc.oneof(text, json),
        toolDescription: fc.oneof(text, json),
        parameters: fc.oneof(text, json),
        isActive: fc.oneof(text, json),
        nodes: fc.oneof(fc.array(node), json),
        edges: json,
      },
      { requiredKeys: [] },
    ) as fc.Arbitrary<JsonObject>;
    fc.assert(
      fc.property(flow, (before) => {
        const { flow: after, notes } = migrate(before);
        const result = JSON.stringify(after) + notes.join("\n");
        JSON.stringify(before, (_, value: unknown) => {
          if (typeof value === "string" && value.startsWith("§"))
            expect(result).toContain(JSON.stringify(value).slice(1, -1));
          return value;
        });
        expect(migrate(after)).toEqual({ flow: after, changed: false, notes: [] });
      }),
      { numRuns: 300 },
    );
  });
});

describe("all flows of an app", () => {
  const legacy = (name: string) => ({ ...tool, name, nodes: [trigger] });
  const nameOf = (flow: JsonObject) => {
    const [{ parameters }] = flow.nodes as [{ parameters: JsonObject }];
    return parameters.toolName;
  };

  it("keep their tool names, except that a duplicate name gets a number and a note", () => {
    const migrated = migrateApp([legacy("A"), legacy("B"), legacy("C")], createIdCounter());
    expect(migrated.map(({ flow }) => nameOf(flow))).toEqual([
      "get_weather",
      "get_weather_2",
      "get_weather_3",
    ]);
    expect(migrated[1]?.notes).toEqual([
      "toolName: the app already has a tool get_weather; this one is now get_weather_2.",
    ]);
  });

  it("keep the names of flows that are already migrated, in any order", () => {
    const [migratedA] = migrateApp([legacy("A")], createIdCounter());
    const migrated = migrateApp([legacy("B"), migratedA?.flow as JsonObject], createIdCounter());
    expect(migrated.map(({ flow }) => nameOf(flow))).toEqual(["get_weather_2", "get_weather"]);
    expect(migrated[1]?.changed).toBe(false);
  });

  it("get the same names after an interrupted migration", () => {
    const flows: JsonObject[] = [legacy("A"), legacy("B"), legacy("C")];
    const expectedNames = migrateApp(flows, createIdCounter()).map(({ flow }) => nameOf(flow));
    for (let stop = 0; stop <= flows.length; stop++) {
      const halfMigrated = [
        ...migrateApp(flows.slice(0, stop), createIdCounter()).map(({ flow }) => flow),
        ...flows.slice(stop),
      ];
      expect(migrateApp(halfMigrated, createIdCounter()).map(({ flow }) => nameOf(flow))).toEqual(
        expectedNames,
      );
    }
  });
});
