import type { JsonObject } from "@signalbox/rules/json.ts";
import { describe, expect, test } from "vitest";
import { copyNodes, readClip } from "./clip.ts";
import { canConnect, type EditAction, edit, openGraph } from "./edit-model.ts";
import { sampleGraph } from "./test-graph.ts";

const start = () => openGraph(sampleGraph());
const run = (...actions: EditAction[]) => actions.reduce(edit, start());
const paste = (text: string): EditAction => {
  const clip = readClip(text);
  if (!clip) throw new Error("not a clip");
  return {
    do: "paste",
    clip,
    ids: ["new-1", "new-2", "new-3", "e-1", "e-2"],
    offset: { x: 40, y: 40 },
  };
};

describe("undo and redo", () => {
  const actions: [string, EditAction][] = [
    ["move", { do: "move", to: { ask: { x: 8, y: 8 } }, at: 0 }],
    ["add", { do: "add", id: "n", edgeId: "e", type: "Return", position: { x: 0, y: 0 } }],
    [
      "connect",
      {
        do: "connect",
        id: "e",
        from: { node: "is_bug", port: "false" },
        to: { node: "answer", port: "in" },
      },
    ],
    ["remove", { do: "remove", nodes: ["fetch"], edges: [] }],
    ["paste", paste(copyNodes(sampleGraph(), new Set(["fetch"])) ?? "")],
    ["parameters", { do: "parameters", node: "fetch", parameters: { url: "x" }, at: 0 }],
    ["rename", { do: "rename", node: "fetch", name: "Fetch it" }],
    ["describe", { do: "describe", name: "Other", description: "" }],
    ["replace", { do: "replace", graph: { ...sampleGraph(), nodes: [] } }],
  ];
  test.each(actions)("undoes and redoes: %s", (_, action) => {
    const before = start();
    const after = edit(before, action);
    expect(after.graph).not.toEqual(before.graph);
    const undone = edit(after, { do: "undo" });
    expect(undone.graph).toBe(before.graph);
    expect(edit(undone, { do: "redo" }).graph).toBe(after.graph);
  });

  test("discards the redo history when an edit follows an undo", () => {
    const state = run(
      { do: "describe", name: "A", description: "" },
      { do: "undo" },
      { do: "describe", name: "B", description: "" },
    );
    expect(state.future).toEqual([]);
    expect(state.graph.name).toBe("B");
  });

  test("merges edits of one node into one undo step until there is a pause", () => {
    const type = (url: string, at: number): EditAction => ({
      do: "parameters",
      node: "fetch",
      parameters: { url },
      at,
    });
    expect(run(type("a", 0), type("ab", 300), type("abc", 900)).past).toHaveLength(1);
    expect(run(type("a", 0), type("ab", 3_000)).past).toHaveLength(2);
  });

  test("adds no undo step for an edit that changes nothing", () => {
    expect(run({ do: "move", to: { ask: { x: 0, y: 0 } }, at: 0 }).past).toEqual([]);
    expect(run({ do: "remove", nodes: ["unknown"], edges: [] }).past).toEqual([]);
  });
});

describe("canConnect", () => {
  const graph = sampleGraph();
  const can = (from: string, to: string, port = "out") =>
    canConnect(graph, { node: from, port }, { node: to, port: "in" });
  test("allows an edge between two nodes", () => expect(can("fetch", "answer")).toBe(true));
  test("rejects an edge that exists already", () => expect(can("ask", "fetch")).toBe(false));
  test("rejects an edge to a trigger", () => expect(can("fetch", "ask")).toBe(false));
  test("rejects an edge from a node to itself", () => expect(can("fetch", "fetch")).toBe(false));
  test("rejects an edge that closes a cycle", () =>
    expect(can("is_bug", "fetch", "true")).toBe(false));
});

test("removes the edges of a deleted node", () =>
  expect(
    run({ do: "remove", nodes: ["fetch"], edges: [] }).graph.edges.map(({ id }) => id),
  ).toEqual(["opened-out-shape", "is_bug-true-answer"]));

test("connects a new node to the node before it, and gives it a name and a slug", () => {
  const { graph } = run({
    do: "add",
    id: "n",
    edgeId: "e",
    type: "HttpRequest",
    position: { x: 0, y: 0 },
    from: { node: "is_bug", port: "false" },
  });
  expect(graph.nodes.at(-1)).toMatchObject({ name: "HTTP request", slug: "http_request" });
  expect(graph.edges.at(-1)).toEqual({
    id: "e",
    source: "is_bug",
    sourceHandle: "false",
    target: "n",
    targetHandle: "in",
  });
});

test("gives a new tool a description, since the hub rejects a tool without one", () =>
  expect(
    run({
      do: "add",
      id: "n",
      edgeId: "e",
      type: "UserIntent",
      position: { x: 0, y: 0 },
    }).graph.nodes.at(-1)?.parameters,
  ).toEqual({ toolDescription: "MCP tool" }));

test.each([
  ["MCP tool", "Greet a person"],
  ["ask", "Greet a person"],
  ["Asks for a name.", "Asks for a name."],
])("changes the description %j of a renamed tool to %j", (before, after) =>
  expect(
    run(
      { do: "parameters", node: "ask", parameters: { toolDescription: before }, at: 0 },
      { do: "rename", node: "ask", name: "Greet a person" },
    ).graph.nodes.find(({ id }) => id === "ask")?.parameters,
  ).toEqual({ toolDescription: after }),
);

test("does not treat the first layout as an edit", () => {
  const state = run({ do: "place", to: { ask: { x: 40, y: 52 } } });
  expect(state.graph.nodes[0]?.position).toEqual({ x: 40, y: 52 });
  expect(state.absorbed).toBe(state.graph);
  expect(state.past).toEqual([]);
});

describe("copied nodes", () => {
  const text = copyNodes(sampleGraph(), new Set(["ask", "fetch", "is_bug"])) ?? "";
  const { graph } = run(paste(text));
  const copies = graph.nodes.slice(6);
  test("get new ids, slugs and edges", () => {
    expect(copies.map(({ id, slug }) => [id, slug])).toEqual([
      ["new-1", "ask_2"],
      ["new-2", "fetch_2"],
      ["new-3", "is_bug_2"],
    ]);
    expect(graph.edges.slice(4).map(({ source, target }) => [source, target])).toEqual([
      ["new-1", "new-2"],
      ["new-2", "new-3"],
    ]);
  });
  test("refer to each other, not to the originals", () =>
    expect(JSON.stringify(copies[2]?.parameters)).toContain("{{ fetch_2.body }}"));
  test("have no tool name, so that the hub assigns one", () =>
    expect(copies[0]?.parameters).not.toHaveProperty("toolName"));
  test("are undefined for an empty selection", () =>
    expect(copyNodes(sampleGraph(), new Set())).toBeUndefined());
  test.each(["", "hello", '{"signalbox":"nodes","nodes":[{}],"edges":[]}', '{"signalbox"'])(
    "are not found in the text %j",
    (text) => expect(readClip(text)).toBeUndefined(),
  );
});

test("updates the references in templates and JSONata when a node is renamed", () => {
  const { graph } = run({ do: "rename", node: "fetch", name: "Get it" });
  const [, , fetch, condition, answer, shape] = graph.nodes;
  expect(fetch).toMatchObject({ name: "Get it", slug: "get_it" });
  expect(JSON.stringify(condition?.parameters)).toContain("{{ get_it.body }}");
  expect(answer?.parameters.value).toBe("{{ get_it.status }}");
  expect(shape?.parameters.expression).toBe("nodes.get_it.status");
});

describe("values that the hub has assigned", () => {
  const sent = sampleGraph();
  const saved = {
    ...sent,
    nodes: sent.nodes.map((each) =>
      each.id === "ask" ? { ...each, parameters: { ...each.parameters, toolName: "ask_2" } } : each,
    ),
  };
  test("are applied without an undo step", () => {
    const state = edit(openGraph(sent), { do: "absorb", sent, saved });
    expect(state.graph.nodes[0]?.parameters.toolName).toBe("ask_2");
    expect(state.absorbed).toBe(state.graph);
    expect(state.past).toEqual([]);
  });
  test("do not overwrite an edit that was made meanwhile", () => {
    const edited = edit(openGraph(sent), {
      do: "parameters",
      node: "ask",
      parameters: { toolDescription: "Newer." },
      at: 0,
    });
    const state = edit(edited, { do: "absorb", sent, saved });
    expect(state.graph.nodes[0]?.parameters).toEqual({ toolDescription: "Newer." });
  });
  test("do not mark an edit of another node as saved", () => {
    const edited = edit(openGraph(sent), {
      do: "parameters",
      node: "fetch",
      parameters: { url: "newer" },
      at: 0,
    });
    const state = edit(edited, { do: "absorb", sent, saved });
    expect(state.graph.nodes[0]?.parameters.toolName).toBe("ask_2");
    expect(state.absorbed).toBeUndefined();
  });
});

describe("rebase", () => {
  const base = sampleGraph();
  const theirs = { ...base, name: "Theirs" };
  const type = (url: string): EditAction => ({
    do: "parameters",
    node: "fetch",
    parameters: { url },
    at: 0,
  });
  const urlOf = ({ nodes }: { nodes: readonly { id: string; parameters: JsonObject }[] }) =>
    nodes.find(({ id }) => id === "fetch")?.parameters.url;

  test("applies own edits to the saved graph, and Undo reverts only the own edit", () => {
    const edited = edit(openGraph(base), type("mine"));
    const state = edit(edited, { do: "rebase", base, theirs });
    expect([state.graph.name, urlOf(state.graph)]).toEqual(["Theirs", "mine"]);
    const undone = edit(state, { do: "undo" });
    expect([undone.graph.name, urlOf(undone.graph)]).toEqual(["Theirs", "https://example.com"]);
    const redone = edit(undone, { do: "redo" });
    expect([redone.graph.name, urlOf(redone.graph)]).toEqual(["Theirs", "mine"]);
  });

  test("returns the saved graph itself if there are no own edits", () =>
    expect(edit(openGraph(base), { do: "rebase", base, theirs }).graph).toBe(theirs));

  test.each([
    ["mine", "Mine", "Theirs"],
    ["theirs", "Theirs", "Mine"],
  ] as const)("applies the choice %j, and Undo shows the other choice", (prefer, now, before) => {
    const edited = edit(openGraph(base), { do: "describe", name: "Mine", description: "" });
    const state = edit(edited, { do: "rebase", base, theirs, prefer });
    expect(state.graph.name).toBe(now);
    expect(edit(state, { do: "undo" }).graph.name).toBe(before);
  });
});
