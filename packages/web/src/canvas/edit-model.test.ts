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
  test.each(actions)("%s can be undone and redone", (_, action) => {
    const before = start();
    const after = edit(before, action);
    expect(after.graph).not.toEqual(before.graph);
    const undone = edit(after, { do: "undo" });
    expect(undone.graph).toBe(before.graph);
    expect(edit(undone, { do: "redo" }).graph).toBe(after.graph);
  });

  test("an edit after an undo drops what could be redone", () => {
    const state = run(
      { do: "describe", name: "A", description: "" },
      { do: "undo" },
      { do: "describe", name: "B", description: "" },
    );
    expect(state.future).toEqual([]);
    expect(state.graph.name).toBe("B");
  });

  test("typing in one node is one step back, a pause begins another", () => {
    const type = (url: string, at: number): EditAction => ({
      do: "parameters",
      node: "fetch",
      parameters: { url },
      at,
    });
    expect(run(type("a", 0), type("ab", 300), type("abc", 900)).past).toHaveLength(1);
    expect(run(type("a", 0), type("ab", 3_000)).past).toHaveLength(2);
  });

  test("an edit that changes nothing is no step", () => {
    expect(run({ do: "move", to: { ask: { x: 0, y: 0 } }, at: 0 }).past).toEqual([]);
    expect(run({ do: "remove", nodes: ["nobody"], edges: [] }).past).toEqual([]);
  });
});

describe("edges", () => {
  const graph = sampleGraph();
  const can = (from: string, to: string, port = "out") =>
    canConnect(graph, { node: from, port }, { node: to, port: "in" });
  test("a node can follow another", () => expect(can("fetch", "answer")).toBe(true));
  test("not twice", () => expect(can("ask", "fetch")).toBe(false));
  test("not into a trigger", () => expect(can("fetch", "ask")).toBe(false));
  test("not into itself", () => expect(can("fetch", "fetch")).toBe(false));
  test("not in a circle", () => expect(can("is_bug", "fetch", "true")).toBe(false));
  test("a deleted node takes its edges with it", () =>
    expect(
      run({ do: "remove", nodes: ["fetch"], edges: [] }).graph.edges.map(({ id }) => id),
    ).toEqual(["opened-out-shape", "is_bug-true-answer"]));
});

test("a node that is added after another is connected to it, with a name and slug of its own", () => {
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

test("a tool that is added has a description, since the hub saves none without", () =>
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
])("the description %j of a tool that is renamed becomes %j", (before, after) =>
  expect(
    run(
      { do: "parameters", node: "ask", parameters: { toolDescription: before }, at: 0 },
      { do: "rename", node: "ask", name: "Greet a person" },
    ).graph.nodes.find(({ id }) => id === "ask")?.parameters,
  ).toEqual({ toolDescription: after }),
);

test("the first layout is no edit", () => {
  const state = run({ do: "place", to: { ask: { x: 40, y: 52 } } });
  expect(state.graph.nodes[0]?.position).toEqual({ x: 40, y: 52 });
  expect(state.absorbed).toBe(state.graph);
  expect(state.past).toEqual([]);
});

describe("copies", () => {
  const text = copyNodes(sampleGraph(), new Set(["ask", "fetch", "is_bug"])) ?? "";
  const { graph } = run(paste(text));
  const copies = graph.nodes.slice(6);
  test("have ids, slugs and edges of their own", () => {
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
  test("refer to each other, not to what they were copied from", () =>
    expect(JSON.stringify(copies[2]?.parameters)).toContain("{{ fetch_2.body }}"));
  test("leave their tool name to the hub", () =>
    expect(copies[0]?.parameters).not.toHaveProperty("toolName"));
  test("of an empty selection are nothing", () =>
    expect(copyNodes(sampleGraph(), new Set())).toBeUndefined());
  test.each(["", "hello", '{"signalbox":"nodes","nodes":[{}],"edges":[]}', '{"signalbox"'])(
    "%j is not a copy",
    (other) => expect(readClip(other)).toBeUndefined(),
  );
});

test("a new name updates the references in templates and JSONata", () => {
  const { graph } = run({ do: "rename", node: "fetch", name: "Get it" });
  const [, , fetch, condition, answer, shape] = graph.nodes;
  expect(fetch).toMatchObject({ name: "Get it", slug: "get_it" });
  expect(JSON.stringify(condition?.parameters)).toContain("{{ get_it.body }}");
  expect(answer?.parameters.value).toBe("{{ get_it.status }}");
  expect(shape?.parameters.expression).toBe("nodes.get_it.status");
});

describe("what the hub has assigned", () => {
  const sent = sampleGraph();
  const saved = {
    ...sent,
    nodes: sent.nodes.map((each) =>
      each.id === "ask" ? { ...each, parameters: { ...each.parameters, toolName: "ask_2" } } : each,
    ),
  };
  test("is taken over, and is no step back", () => {
    const state = edit(openGraph(sent), { do: "absorb", sent, saved });
    expect(state.graph.nodes[0]?.parameters.toolName).toBe("ask_2");
    expect(state.absorbed).toBe(state.graph);
    expect(state.past).toEqual([]);
  });
  test("does not overwrite an edit made meanwhile", () => {
    const edited = edit(openGraph(sent), {
      do: "parameters",
      node: "ask",
      parameters: { toolDescription: "Newer." },
      at: 0,
    });
    const state = edit(edited, { do: "absorb", sent, saved });
    expect(state.graph.nodes[0]?.parameters).toEqual({ toolDescription: "Newer." });
  });
  test("does not make an edit of another node count as saved", () => {
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

describe("another edit that was saved meanwhile", () => {
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

  test("is below own edits, and an undo takes back only the own one", () => {
    const edited = edit(openGraph(base), type("mine"));
    const state = edit(edited, { do: "rebase", base, theirs });
    expect([state.graph.name, urlOf(state.graph)]).toEqual(["Theirs", "mine"]);
    const undone = edit(state, { do: "undo" });
    expect([undone.graph.name, urlOf(undone.graph)]).toEqual(["Theirs", "https://example.com"]);
    const redone = edit(undone, { do: "redo" });
    expect([redone.graph.name, urlOf(redone.graph)]).toEqual(["Theirs", "mine"]);
  });

  test("is shown itself if there are no own edits, so that nothing is to be saved", () =>
    expect(edit(openGraph(base), { do: "rebase", base, theirs }).graph).toBe(theirs));

  test.each([
    ["mine", "Mine", "Theirs"],
    ["theirs", "Theirs", "Mine"],
  ] as const)("with %s chosen, the other choice is one step back", (prefer, now, before) => {
    const edited = edit(openGraph(base), { do: "describe", name: "Mine", description: "" });
    const state = edit(edited, { do: "rebase", base, theirs, prefer });
    expect(state.graph.name).toBe(now);
    expect(edit(state, { do: "undo" }).graph.name).toBe(before);
  });
});
