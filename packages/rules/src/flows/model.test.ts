import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { issuesOf } from "./issues.ts";
import { appSchema, edgeSchema, flowDraftSchema, LIMITS, nodeSchema } from "./model.ts";
import { testNode } from "./test-flow.ts";

const node = testNode("Return", "Give back", { value: 1 });
const problems = (input: unknown) => {
  const { error } = flowDraftSchema.safeParse(input);
  return error ? issuesOf(error).map(({ path, message }) => `${path}: ${message}`) : [];
};

describe("a flow", () => {
  it("requires only a name", () => {
    expect(flowDraftSchema.parse({ name: " Weather " })).toEqual({
      name: "Weather",
      description: "",
      nodes: [],
      edges: [],
    });
  });

  it("and its nodes can have a name of 300 characters", () => {
    const name = "x".repeat(300);
    expect(problems({ name, nodes: [{ ...node, name }] })).toEqual([]);
    expect(problems({ name: `${name}x` })).toEqual(["name: must have at most 300 characters"]);
  });

  it("is parsed without changes of its nodes and edges", () => {
    const edge = { id: "e", source: "a", sourceHandle: "true", target: "b", targetHandle: "in" };
    const flow = { name: "x", description: "", nodes: [node], edges: [edge] };
    expect(flowDraftSchema.parse(flow)).toEqual(flow);
  });

  it.each<[string, unknown, string]>([
    ["a blank name", { name: "  " }, "name: must not be empty"],
    ["unknown fields", { name: "x", toolName: "y" }, "toolName: unexpected field: remove it"],
    [
      "a reserved slug",
      { name: "x", nodes: [{ ...node, slug: "trigger" }] },
      "nodes[0].slug: A slug starts with a letter",
    ],
    [
      "an invalid position",
      { name: "x", nodes: [{ ...node, position: { x: Number.NaN, y: 0 } }] },
      "nodes[0].position.x: ",
    ],
    [
      "parameters that are not an object",
      { name: "x", nodes: [{ ...node, parameters: [] }] },
      "nodes[0].parameters: ",
    ],
    [
      "too many nodes",
      { name: "x", nodes: Array(LIMITS.nodes + 1).fill(node) },
      "nodes: must have at most 500 items",
    ],
    [
      "a node with too many references",
      { name: "x", nodes: [{ ...node, parameters: { a: ["{{ a }}".repeat(2001)] } }] },
      "nodes[0].parameters: must have at most 2000 references {{ … }}: compute",
    ],
    [
      "nodes with too many references together",
      {
        name: "x",
        nodes: [1, 2, 2, 2, 2, 2].map((thousands, index) => ({
          ...node,
          name: `Node ${index}`,
          parameters: { a: "{{ a }}".repeat(thousands * 1000) },
        })),
      },
      "nodes: must have at most 10000 references {{ … }}, but have 11000, of which Node 1 has 2000: compute",
    ],
    [
      "large parameters",
      { name: "x", nodes: [{ ...node, parameters: { a: "x".repeat(LIMITS.parametersBytes) } }] },
      "nodes[0].parameters: must have at most 262144 bytes",
    ],
  ])("is rejected for %s", (_, input, problem) => {
    expect(problems(input)).toEqual([expect.stringContaining(problem)]);
  });

  it("is rejected without a stack overflow if its parameters are nested too deeply", () => {
    const deep = (depth: number) => JSON.parse(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`);
    const flow = (depth: number) => ({ name: "x", nodes: [{ ...node, parameters: deep(depth) }] });
    expect(problems(flow(LIMITS.depth))).toEqual([]);
    expect(problems(flow(100_000))).toEqual([
      "nodes[0].parameters: must not be nested deeper than 32 levels",
    ]);
  });

  it("is parsed or rejected without an exception, for any input", () => {
    fc.assert(
      fc.property(fc.object({ key: fc.constantFrom("name", "nodes", "edges", "id") }), (input) => {
        flowDraftSchema.safeParse(input);
      }),
    );
  });
});

it("defaults the handles of an edge to out and in", () => {
  expect(edgeSchema.parse({ id: "e", source: "a", sourceHandle: null, target: "b" })).toEqual({
    id: "e",
    source: "a",
    sourceHandle: "out",
    target: "b",
    targetHandle: "in",
  });
});

it("accepts JSON values of every type in parameters", () => {
  const parameters = { a: [1, "x", null, { b: true }], "odd key": {} };
  expect(nodeSchema.parse({ ...node, parameters }).parameters).toEqual(parameters);
});

it.each(["a", "my-app", "7", "a".repeat(63)])("accepts the app slug %s", (slug) => {
  expect(appSchema.parse({ slug, name: "App" }).slug).toBe(slug);
});

it.each(["", "-a", "a-", "A", "a b", "a/b", "a".repeat(64)])("rejects the app slug %j", (slug) => {
  expect(appSchema.safeParse({ slug, name: "App" }).success).toBe(false);
});
