/** Applies edits to a flow, with undo and redo. A pure reducer: the actions contain new ids and times. */
import { analyzeExpression } from "@signalbox/rules/flows/analyze-expression.ts";
import { renameNode } from "@signalbox/rules/flows/rename-node.ts";
import { slugFor } from "@signalbox/rules/flows/slug.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { Clip } from "./clip.ts";
import { isEqual } from "./equal.ts";
import { withFreeSlug } from "./free-slug.ts";
import type { FlowEdge, FlowNode, Graph, Point, Port } from "./graph.ts";
import { mergeGraphs, type Side } from "./merge.ts";
import { definitionOf, inPortsOf, registry } from "./node-kinds.ts";

export interface EditState {
  graph: Graph;
  past: readonly Graph[];
  future: readonly Graph[];
  /** The last edit. An edit with the same key within MERGE_MS belongs to the same undo step. */
  last?: { key: string; at: number } | undefined;
  /** Equal to `graph` if it needs no save: it has no new edits, only values of the hub or a first layout. */
  absorbed?: Graph | undefined;
}

export type EditAction =
  | { do: "move"; to: Readonly<Record<string, Point>>; at: number }
  | {
      do: "add";
      id: string;
      edgeId: string;
      type: string;
      position: Point;
      from?: Port | undefined;
    }
  | { do: "connect"; id: string; from: Port; to: Port }
  | { do: "remove"; nodes: readonly string[]; edges: readonly string[] }
  | { do: "paste"; clip: Clip; ids: readonly string[]; offset: Point }
  | { do: "parameters"; node: string; parameters: JsonObject; at: number }
  | { do: "rename"; node: string; name: string }
  | { do: "describe"; name: string; description: string }
  | { do: "replace"; graph: Graph }
  /** Sets the positions of nodes that have none. They are not an edit, and are saved with the next one. */
  | { do: "place"; to: Readonly<Record<string, Point>> }
  | { do: "absorb"; sent: Graph; saved: Graph }
  /**
   * Another client has saved `theirs`, an edit of `base`. It is merged into the graph and into all
   * graphs of the undo history. If both edits have changed the same value, `prefer` is the choice of
   * the user, and Undo shows the result of the other choice.
   */
  | { do: "rebase"; base: Graph; theirs: Graph; prefer?: Side }
  | { do: "undo" }
  | { do: "redo" };

/** Edits with the same key within this time are one undo step. */
const MERGE_MS = 1_000;
const MAX_UNDO_STEPS = 200;

export const openGraph = (graph: Graph): EditState => ({ graph, past: [], future: [] });

export function edit(state: EditState, action: EditAction): EditState {
  switch (action.do) {
    case "undo": {
      const graph = state.past.at(-1);
      return graph
        ? { graph, past: state.past.slice(0, -1), future: [state.graph, ...state.future] }
        : state;
    }
    case "redo": {
      const [graph, ...future] = state.future;
      return graph ? { graph, past: [...state.past, state.graph], future } : state;
    }
    case "place": {
      const graph = move(state.graph, action.to);
      if (graph === state.graph) return state;
      return { ...state, graph, absorbed: state.past.length === 0 ? graph : undefined };
    }
    case "rebase":
      return rebase(state, action);
    case "absorb":
      return absorb(state, action.sent, action.saved);
    default: {
      const graph = applyEdit(state.graph, action);
      return graph === state.graph ? state : record(state, graph, mergeKeyOf(action));
    }
  }
}

/** Actions that change the graph and become an undo step. */
type Edit = Exclude<EditAction, { do: "undo" | "redo" | "absorb" | "place" | "rebase" }>;

const mergeKeyOf = (action: Edit): EditState["last"] => {
  if (action.do === "move")
    return { key: `move ${Object.keys(action.to).sort().join(" ")}`, at: action.at };
  if (action.do === "parameters") return { key: `parameters ${action.node}`, at: action.at };
  return undefined;
};

/** Adds the former graph to the undo history, unless the edit continues the last one. */
function record(state: EditState, graph: Graph, last: EditState["last"]): EditState {
  const isPartOfLast =
    last !== undefined && last.key === state.last?.key && last.at - state.last.at < MERGE_MS;
  return {
    graph,
    past: isPartOfLast ? state.past : [...state.past, state.graph].slice(-MAX_UNDO_STEPS),
    future: [],
    last,
  };
}

function applyEdit(graph: Graph, action: Edit): Graph {
  switch (action.do) {
    case "move":
      return move(graph, action.to);
    case "add":
      return add(graph, action);
    case "connect":
      return connect(graph, action);
    case "remove":
      return remove(graph, new Set(action.nodes), new Set(action.edges));
    case "paste":
      return paste(graph, action);
    case "parameters":
      return withNodes(graph, (node) =>
        node.id === action.node && !isEqual(node.parameters, action.parameters)
          ? { ...node, parameters: action.parameters }
          : node,
      );
    case "rename":
      return rename(graph, action);
    case "describe": {
      const { name, description } = action;
      return name === graph.name && description === graph.description
        ? graph
        : { ...graph, name, description };
    }
    case "replace":
      return isEqual(graph, action.graph) ? graph : action.graph;
  }
}

/** Returns the same graph if `map` changes no node. */
function withNodes(graph: Graph, map: (node: FlowNode) => FlowNode): Graph {
  const nodes = graph.nodes.map(map);
  return nodes.every((node, index) => node === graph.nodes[index]) ? graph : { ...graph, nodes };
}

const move = (graph: Graph, positions: Readonly<Record<string, Point>>): Graph =>
  withNodes(graph, (node) => {
    const to = positions[node.id];
    return to && (to.x !== node.position.x || to.y !== node.position.y)
      ? { ...node, position: to }
      : node;
  });

function add(graph: Graph, action: Extract<Edit, { do: "add" }>): Graph {
  const { id, edgeId, type, position, from } = action;
  const definition = registry.get(type);
  if (!definition) return graph;
  const takenSlugs = new Set(graph.nodes.map(({ slug }) => slug));
  const name = freeName(definition.title, new Set(graph.nodes.map((node) => node.name)));
  // The hub rejects a tool without a description.
  const parameters: JsonObject = definition.isTool ? { toolDescription: name } : {};
  const node = { id, type, name, slug: slugFor(name, takenSlugs), position, parameters };
  const withNode = { ...graph, nodes: [...graph.nodes, node] };
  const port = definition.inPorts[0];
  return from && port
    ? connect(withNode, { do: "connect", id: edgeId, from, to: { node: id, port } })
    : withNode;
}

function freeName(base: string, taken: ReadonlySet<string>): string {
  for (let suffix = 1; ; suffix += 1) {
    const name = suffix === 1 ? base : `${base} ${suffix}`;
    if (!taken.has(name)) return name;
  }
}

function connect(graph: Graph, { id, from, to }: Extract<Edit, { do: "connect" }>): Graph {
  if (!canConnect(graph, from, to)) return graph;
  const edge = {
    id,
    source: from.node,
    sourceHandle: from.port,
    target: to.node,
    targetHandle: to.port,
  };
  return { ...graph, edges: [...graph.edges, edge] };
}

/** Returns false if the edge exists already, ends at a trigger, or closes a cycle. */
export function canConnect(graph: Pick<Graph, "nodes" | "edges">, from: Port, to: Port): boolean {
  const target = graph.nodes.find(({ id }) => id === to.node);
  if (!target || !inPortsOf(target).includes(to.port) || from.node === to.node) return false;
  const exists = graph.edges.some(
    (edge) =>
      edge.source === from.node &&
      edge.sourceHandle === from.port &&
      edge.target === to.node &&
      edge.targetHandle === to.port,
  );
  return !exists && !reaches(graph.edges, to.node, from.node);
}

function reaches(edges: readonly FlowEdge[], start: string, end: string): boolean {
  const seen = new Set([start]);
  // The loop also visits the ids that it adds.
  for (const id of seen)
    for (const { source, target } of edges) if (source === id) seen.add(target);
  return seen.has(end);
}

function remove(graph: Graph, nodes: ReadonlySet<string>, edges: ReadonlySet<string>): Graph {
  const keptNodes = graph.nodes.filter(({ id }) => !nodes.has(id));
  const keptEdges = graph.edges.filter(
    ({ id, source, target }) => !edges.has(id) && !nodes.has(source) && !nodes.has(target),
  );
  return keptNodes.length === graph.nodes.length && keptEdges.length === graph.edges.length
    ? graph
    : { ...graph, nodes: keptNodes, edges: keptEdges };
}

/**
 * Copies get new ids and slugs; the hub assigns new tool names. References between the copied nodes are
 * updated. `ids` has the new ids of the nodes, then those of the edges.
 */
function paste(graph: Graph, { clip, ids: newIds, offset }: Extract<Edit, { do: "paste" }>): Graph {
  const idOfCopy = new Map(clip.nodes.map(({ id }, index) => [id, newIds[index] ?? id]));
  const copies = clip.nodes.map((node) => ({
    ...node,
    id: idOfCopy.get(node.id) ?? node.id,
    position: { x: node.position.x + offset.x, y: node.position.y + offset.y },
    parameters: withoutToolName(node),
  }));
  const nodes = copies.reduce<readonly FlowNode[]>(
    (all, { id }) => withFreeSlug(all, id, graph.nodes),
    copies,
  );
  const edges = clip.edges.flatMap((edge, index) => {
    const source = idOfCopy.get(edge.source);
    const target = idOfCopy.get(edge.target);
    return source && target
      ? [{ ...edge, id: newIds[clip.nodes.length + index] ?? edge.id, source, target }]
      : [];
  });
  return {
    ...graph,
    nodes: [...graph.nodes, ...nodes],
    edges: [...graph.edges, ...edges],
  };
}

const withoutToolName = (node: FlowNode): JsonObject => {
  if (!definitionOf(node)?.isTool) return node.parameters;
  const { toolName: _, ...parameters } = node.parameters;
  return parameters;
};

/**
 * Removes the tool name, so that the hub assigns a new one: only the hub knows the tool names of the
 * other flows of the app. A generated description changes with the name.
 */
function rename(graph: Graph, action: Extract<Edit, { do: "rename" }>): Graph {
  const name = action.name.trim();
  const node = graph.nodes.find(({ id }) => id === action.node);
  if (!node || name === "" || name === node.name) return graph;
  const renamed = renameNode(graph, node.id, name, registry, new Set(), analyzeExpression);
  if (!renamed) return graph;
  const definition = definitionOf(node);
  const { toolDescription } = node.parameters;
  const isGenerated = toolDescription === node.name || toolDescription === definition?.title;
  const description = definition?.isTool && isGenerated ? { toolDescription: name } : {};
  return withNodes(renamed.flow, (each) =>
    each.id === node.id
      ? { ...each, parameters: { ...withoutToolName(each), ...description } }
      : each,
  );
}

/** Applies values that the hub has assigned, such as tool names, to nodes without edits since `sent`. */
function absorb(state: EditState, sent: Graph, saved: Graph): EditState {
  const sentNodes = new Map(sent.nodes.map((node) => [node.id, node]));
  const savedNodes = new Map(saved.nodes.map((node) => [node.id, node]));
  const graph = withNodes(state.graph, (node) => {
    const savedNode = savedNodes.get(node.id);
    const isUnedited = node === sentNodes.get(node.id);
    return isUnedited && savedNode && !isEqual(savedNode, node) ? savedNode : node;
  });
  if (graph === state.graph) return state;
  // An edit since `sent` must still be saved.
  return { ...state, graph, absorbed: state.graph === sent ? graph : undefined };
}

function rebase(
  state: EditState,
  { base, theirs, prefer = "mine" }: Extract<EditAction, { do: "rebase" }>,
): EditState {
  const merge = (graph: Graph, side: Side = "mine") => mergeGraphs(base, graph, theirs, side);
  const { graph, collisions } = merge(state.graph, prefer);
  const past = state.past.map((former) => merge(former).graph);
  const otherChoice = merge(state.graph, prefer === "mine" ? "theirs" : "mine").graph;
  return {
    graph,
    past: collisions.length > 0 ? [...past, otherChoice] : past,
    future: state.future.map((undone) => merge(undone).graph),
  };
}
