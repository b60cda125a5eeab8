/** Edits of a flow with undo and redo. Pure: ids and times come with the actions. */
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
  /** What the last edit was; an edit with the same key soon after is part of it. */
  last?: { key: string; at: number } | undefined;
  /** The graph, if it has no edit that the hub does not have: only what the hub has assigned is new. */
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
  /** Positions of a flow that has none: shown, and saved with the first edit. */
  | { do: "place"; to: Readonly<Record<string, Point>> }
  | { do: "absorb"; sent: Graph; saved: Graph }
  /**
   * Another edit of `base` was saved: own edits, also those that can be undone, go on top of it.
   * With `prefer`, a person has decided about colliding values; the other decision is one step back.
   */
  | { do: "rebase"; base: Graph; theirs: Graph; prefer?: Side }
  | { do: "undo" }
  | { do: "redo" };

/** Edits of the same thing within this time are one step back. */
const MERGE_MS = 1_000;
const MAX_STEPS = 200;

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
      const graph = change(state.graph, action);
      return graph === state.graph ? state : record(state, graph, keyOf(action));
    }
  }
}

type Change = Exclude<EditAction, { do: "undo" | "redo" | "absorb" | "place" | "rebase" }>;

const keyOf = (action: Change): EditState["last"] => {
  if (action.do === "move")
    return { key: `move ${Object.keys(action.to).sort().join(" ")}`, at: action.at };
  if (action.do === "parameters") return { key: `parameters ${action.node}`, at: action.at };
  return undefined;
};

function record(state: EditState, graph: Graph, last: EditState["last"]): EditState {
  const isPartOfLast =
    last !== undefined && last.key === state.last?.key && last.at - state.last.at < MERGE_MS;
  return {
    graph,
    past: isPartOfLast ? state.past : [...state.past, state.graph].slice(-MAX_STEPS),
    future: [],
    last,
  };
}

function change(graph: Graph, action: Change): Graph {
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

function withNodes(graph: Graph, map: (node: FlowNode) => FlowNode): Graph {
  const nodes = graph.nodes.map(map);
  return nodes.every((node, at) => node === graph.nodes[at]) ? graph : { ...graph, nodes };
}

const move = (graph: Graph, places: Readonly<Record<string, Point>>): Graph =>
  withNodes(graph, (node) => {
    const to = places[node.id];
    return to && (to.x !== node.position.x || to.y !== node.position.y)
      ? { ...node, position: to }
      : node;
  });

function add(graph: Graph, action: Extract<Change, { do: "add" }>): Graph {
  const { id, edgeId, type, position, from } = action;
  const definition = registry.get(type);
  if (!definition) return graph;
  const taken = new Set(graph.nodes.map(({ slug }) => slug));
  const name = freeName(definition.title, new Set(graph.nodes.map((node) => node.name)));
  // The hub saves no tool without a description.
  const parameters: JsonObject = definition.isTool ? { toolDescription: name } : {};
  const node = { id, type, name, slug: slugFor(name, taken), position, parameters };
  const grown = { ...graph, nodes: [...graph.nodes, node] };
  const port = definition.inPorts[0];
  return from && port
    ? connect(grown, { do: "connect", id: edgeId, from, to: { node: id, port } })
    : grown;
}

function freeName(base: string, taken: ReadonlySet<string>): string {
  for (let nth = 1; ; nth += 1) {
    const name = nth === 1 ? base : `${base} ${nth}`;
    if (!taken.has(name)) return name;
  }
}

function connect(graph: Graph, { id, from, to }: Extract<Change, { do: "connect" }>): Graph {
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

/** Not twice, not into a trigger, and not in a circle. */
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

function reaches(edges: readonly FlowEdge[], start: string, wanted: string): boolean {
  const seen = new Set([start]);
  for (const id of seen)
    for (const { source, target } of edges) if (source === id) seen.add(target);
  return seen.has(wanted);
}

function remove(graph: Graph, nodes: ReadonlySet<string>, edges: ReadonlySet<string>): Graph {
  const kept = graph.nodes.filter(({ id }) => !nodes.has(id));
  const keptEdges = graph.edges.filter(
    ({ id, source, target }) => !edges.has(id) && !nodes.has(source) && !nodes.has(target),
  );
  return kept.length === graph.nodes.length && keptEdges.length === graph.edges.length
    ? graph
    : { ...graph, nodes: kept, edges: keptEdges };
}

/** Copies get ids, first of nodes and then of edges, and slugs and tool names of their own. References among them lead to the copies. */
function paste(
  graph: Graph,
  { clip, ids: fresh, offset }: Extract<Change, { do: "paste" }>,
): Graph {
  const ids = new Map(clip.nodes.map(({ id }, nth) => [id, fresh[nth] ?? id]));
  const copies = clip.nodes.map((node) => ({
    ...node,
    id: ids.get(node.id) ?? node.id,
    position: { x: node.position.x + offset.x, y: node.position.y + offset.y },
    parameters: withoutToolName(node),
  }));
  const nodes = copies.reduce<readonly FlowNode[]>(
    (all, { id }) => withFreeSlug(all, id, graph.nodes),
    copies,
  );
  const edges = clip.edges.flatMap((edge, nth) => {
    const source = ids.get(edge.source);
    const target = ids.get(edge.target);
    return source && target
      ? [{ ...edge, id: fresh[clip.nodes.length + nth] ?? edge.id, source, target }]
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
  const { toolName: _, ...rest } = node.parameters;
  return rest;
};

/**
 * The hub assigns the tool name again: it knows the names of the other flows of the app. A description
 * that was not written by a person follows the name.
 */
function rename(graph: Graph, action: Extract<Change, { do: "rename" }>): Graph {
  const name = action.name.trim();
  const node = graph.nodes.find(({ id }) => id === action.node);
  if (!node || name === "" || name === node.name) return graph;
  const renamed = renameNode(graph, node.id, name, registry, new Set(), analyzeExpression);
  if (!renamed) return graph;
  const definition = definitionOf(node);
  const { toolDescription } = node.parameters;
  const follows = toolDescription === node.name || toolDescription === definition?.title;
  const described = definition?.isTool && follows ? { toolDescription: name } : {};
  return withNodes(renamed.flow, (one) =>
    one.id === node.id ? { ...one, parameters: { ...withoutToolName(one), ...described } } : one,
  );
}

/** Takes over what the hub has assigned, such as tool names, where nothing was edited since. */
function absorb(state: EditState, sent: Graph, saved: Graph): EditState {
  const sentNodes = new Map(sent.nodes.map((node) => [node.id, node]));
  const savedNodes = new Map(saved.nodes.map((node) => [node.id, node]));
  const graph = withNodes(state.graph, (node) => {
    const other = savedNodes.get(node.id);
    return node === sentNodes.get(node.id) && other && !isEqual(other, node) ? other : node;
  });
  if (graph === state.graph) return state;
  // An edit that was made meanwhile is still to be saved.
  return { ...state, graph, absorbed: state.graph === sent ? graph : undefined };
}

function rebase(
  state: EditState,
  { base, theirs, prefer = "mine" }: Extract<EditAction, { do: "rebase" }>,
): EditState {
  const onTop = (graph: Graph, side: Side = "mine") => mergeGraphs(base, graph, theirs, side);
  const { graph, collisions } = onTop(state.graph, prefer);
  const past = state.past.map((each) => onTop(each).graph);
  const other = onTop(state.graph, prefer === "mine" ? "theirs" : "mine").graph;
  return {
    graph,
    past: collisions.length > 0 ? [...past, other] : past,
    future: state.future.map((each) => onTop(each).graph),
  };
}
