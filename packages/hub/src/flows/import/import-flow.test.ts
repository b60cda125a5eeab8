import { testFlow, testNode, testTool } from "@signalbox/rules/flows/test-flow.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { importFlow } from "./import-flow.ts";

const createIdCounter = () => {
  let count = 0;
  return () => `new-${++count}`;
};
const importAny = (input: unknown) => importFlow(input, { newId: createIdCounter() });
const importValid = (input: unknown) => {
  const result = importAny(input);
  if (result.outcome !== "imported") throw new Error(JSON.stringify(result.errors));
  return result;
};

describe("an imported flow", () => {
  it("equals the exported flow", () => {
    const flow = testFlow([testTool("Call"), testNode("Return", "End")], ["call → end"]);
    expect(importValid(JSON.parse(JSON.stringify(flow)))).toEqual({
      outcome: "imported",
      flow,
      notes: [],
    });
  });

  it("is converted from the legacy format, with the tool as fields of the flow", () => {
    const { flow, notes } = importValid({
      id: 7,
      name: "Weather",
      description: null,
      toolName: "get_weather",
      toolDescription: "Weather.",
      parameters: [{ name: "city", type: "string", required: true }],
      isActive: true,
      nodes: [
        { id: "a", type: "UserIntent", name: "Ask", position: { x: 1, y: 2 }, parameters: {} },
        {
          id: "b",
          type: "Return",
          name: "Give back",
          position: { x: 3, y: 4, z: 5 },
          measured: {},
        },
      ],
      connections: [
        { sourceNodeId: "a", sourceHandle: "out", targetNodeId: "b", targetHandle: null },
      ],
    });
    expect(notes).toEqual([
      "nodes[1].measured: {} is not a field of a flow, and was ignored.",
      "nodes[1].position.z: 5 is not a field of a flow, and was ignored.",
    ]);
    expect(flow).toMatchObject({
      name: "Weather",
      description: "",
      nodes: [
        { id: "a", slug: "ask", parameters: { toolName: "get_weather", isActive: true } },
        { id: "b", slug: "give_back", position: { x: 3, y: 4 }, parameters: {} },
      ],
      edges: [{ id: "new-1", source: "a", sourceHandle: "out", target: "b", targetHandle: "in" }],
    });
  });

  it.each<[string, object]>([
    ["missing", {}],
    ["null", { connections: null }],
    ["empty text", { connections: "" }],
    ["an empty array", { connections: [] }],
  ])("is converted from the legacy format if its connections are %s", (_, connections) => {
    const tool = { toolName: "go", toolDescription: "Goes." };
    const intent = { id: "u1", type: "UserIntent", name: "Ask" };
    const call = { id: "api1", type: "ApiCall", name: "Fetch", parameters: { url: "{{u1.url}}" } };
    for (const legacy of [
      { ...tool, nodes: [intent, call] },
      { ...tool, nodes: [call] },
      { nodes: [{ ...intent, parameters: tool }, call] },
    ]) {
      const { flow } = importValid({ name: "x", ...legacy, ...connections });
      expect(flow.nodes.map(({ type }) => type).toSorted()).toEqual(["HttpRequest", "UserIntent"]);
    }
  });

  it("has no legacy connections of missing nodes, which are reported", () => {
    const connect = (sourceNodeId: string, targetNodeId: string) => ({
      sourceNodeId,
      targetNodeId,
    });
    const end = { id: "b", type: "Return", name: "End", parameters: null, position: null };
    const { flow, notes } = importValid({
      name: "x",
      toolName: "go",
      toolDescription: "Goes.",
      nodes: [end],
      connections: [connect("gone", "b"), connect("b", "lost"), connect("gone", "lost")],
    });
    expect(flow.nodes[0]).toMatchObject({ parameters: {}, position: { x: 0, y: 0 } });
    // Only the new trigger is connected to the node.
    expect(flow.edges).toMatchObject([{ source: "new-1", target: "b" }]);
    expect(notes).toEqual([
      "A new trigger is connected to b: these nodes had no incoming edge.",
      "connections: gone → b was dropped: there is no node gone.",
      "connections: b → lost was dropped: there is no node lost.",
      "connections: gone → lost was dropped: there is no node gone or lost.",
    ]);
  });

  it("gets valid slugs, and references with these slugs", () => {
    const { flow, notes } = importValid({
      name: "x",
      nodes: [
        { id: "a", type: "Merge", name: "Fetch Data", slug: "fetch-data" },
        { id: "b", type: "Merge", name: "Other", slug: "fetch_data" },
        { id: "c", type: "Return", name: "End", parameters: { value: "{{ fetch-data.x }}" } },
      ],
    });
    expect(flow.nodes.map(({ slug }) => slug)).toEqual(["fetch_data_2", "fetch_data", "end"]);
    expect(flow.nodes[2]?.parameters).toEqual({ value: "{{ fetch_data_2.x }}" });
    expect(notes).toEqual(["The slug fetch-data is no longer allowed: it is now fetch_data_2."]);
  });

  it("has a note for every ignored field, with its path and value", () => {
    const { flow, notes } = importValid({
      id: "f",
      app: "desk",
      name: "x",
      createdAt: "2025",
      owner: { name: "ada" },
      long: "y".repeat(1000),
      nodes: [{ id: "a", type: "Return", name: "End", data: {}, position: { x: 1, y: 2, z: 0 } }],
      edges: [
        { id: 7, source: "a", target: "b", animated: true },
        { source: "a", sourceNodeId: "c", targetNodeId: "b", target: "b" },
      ],
      connections: [{ sourceNodeId: "a" }],
    });
    expect(
      notes.map((note) => note.replace(" is not a field of a flow, and was ignored.", "")),
    ).toEqual([
      'createdAt: "2025"',
      'owner: {"name":"ada"}',
      expect.stringMatching(/^long: "y{199}…$/),
      'connections: [{"sourceNodeId":"a"}]',
      "nodes[0].data: {}",
      "nodes[0].position.z: 0",
      "edges[0].id: 7",
      "edges[0].animated: true",
      'edges[1].sourceNodeId: "c"',
    ]);
    expect(flow.edges).toHaveLength(2);
    // A field without a value is not reported.
    expect(importValid({ name: "x", team: null, nodes: [], measured: undefined }).notes).toEqual(
      [],
    );
  });

  it("has a note for every dropped field, for any field", () => {
    const name = fc.stringMatching(/^x[a-z]{1,8}$/);
    const where = fc.constantFrom("flow", "node", "position", "edge");
    fc.assert(
      fc.property(where, name, fc.jsonValue(), (parent, field, value) => {
        fc.pre(value !== null);
        const extra = (container: string) => (container === parent ? { [field]: value } : {});
        const position = { x: 0, y: 0, ...extra("position") };
        const { notes } = importValid({
          name: "x",
          nodes: [{ id: "a", type: "Return", name: "A", position, ...extra("node") }],
          edges: [{ source: "a", target: "a", ...extra("edge") }],
          ...extra("flow"),
        });
        expect(notes).toHaveLength(1);
        expect(notes[0]).toContain(`${field}: `);
      }),
    );
  });

  it("gets another tool name if its name is taken", () => {
    const input = { name: "x", toolName: "taken", toolDescription: "y", nodes: [] };
    const result = importFlow(input, { newId: createIdCounter(), takenTools: new Set(["taken"]) });
    expect(result).toMatchObject({ flow: { nodes: [{ parameters: { toolName: "taken_2" } }] } });
  });

  it.each<[unknown, string]>([
    [[], "(root)"],
    ["{}", "(root)"],
    [{}, "name"],
    [{ name: "x", nodes: {} }, "nodes"],
    [{ name: "x", nodes: [7] }, "nodes[0]"],
    [{ name: "x", toolName: "x", nodes: '[{"id":' }, "nodes"],
    [{ name: "x", toolName: "x", nodes: null }, "nodes"],
    [{ name: "x", toolName: "x", nodes: [], connections: "oops" }, "edges"],
    [{ name: "x", toolName: "x", nodes: [], edges: 5 }, "edges"],
    [{ name: "x", nodes: [{ id: "a", name: "A" }] }, "nodes[0].type"],
    [{ name: "x", connections: [{ sourceNodeId: "a" }] }, "edges[0].target"],
  ])("is rejected: %j, with an error at %s", (input, path) => {
    const result = importAny(input);
    expect(result.outcome === "invalid" && result.errors[0]?.path).toBe(path);
  });

  it("is rejected if it is nested too deeply", () => {
    const deep = JSON.parse("[".repeat(50_000) + "]".repeat(50_000));
    const end = { ...testNode("Return", "End"), slug: "-", parameters: { value: deep } };
    expect(importAny({ name: "x", nodes: [end] })).toEqual({
      outcome: "invalid",
      errors: [{ path: "(root)", message: expect.stringContaining("is nested too deeply") }],
    });
  });

  it("is imported or rejected, for any input", () => {
    const key = fc.constantFrom("name", "nodes", "edges", "connections", "slug", "toolName", "id");
    fc.assert(
      fc.property(fc.object({ key, withNullPrototype: true }), (input) => {
        expect(["imported", "invalid"]).toContain(importAny(input).outcome);
      }),
    );
  });
});
