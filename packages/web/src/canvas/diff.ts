/** Compares the draft with the published version. Positions are ignored: they do not affect runs. */
import { isEqual } from "./equal.ts";
import { edgeKey, type FlowEdge, type FlowNode, type Graph } from "./graph.ts";

type Change = "added" | "changed" | "removed";
type NodesAndEdges = Pick<Graph, "nodes" | "edges">;

export interface Diff {
  nodes: ReadonlyMap<string, Change>;
  /** The names of the changed parameters of each node; also `name` and `type`. */
  fields: ReadonlyMap<string, readonly string[]>;
  removedNodes: readonly FlowNode[];
  addedEdges: ReadonlySet<string>;
  removedEdges: readonly FlowEdge[];
  count: number;
}

function changedFields(now: FlowNode, before: FlowNode): string[] {
  if (now === before) return [];
  const names = new Set([...Object.keys(before.parameters), ...Object.keys(now.parameters)]);
  return [
    ...(["name", "type"] as const).filter((field) => now[field] !== before[field]),
    ...[...names].filter((name) => !isEqual(now.parameters[name], before.parameters[name])),
  ];
}

export function diffOf(draft: NodesAndEdges, published: NodesAndEdges): Diff {
  const publishedNodes = new Map(published.nodes.map((node) => [node.id, node]));
  const draftIds = new Set(draft.nodes.map(({ id }) => id));
  const nodes = new Map<string, Change>();
  const fields = new Map<string, readonly string[]>();
  for (const node of draft.nodes) {
    const before = publishedNodes.get(node.id);
    const changed = before ? changedFields(node, before) : [];
    if (!before) nodes.set(node.id, "added");
    else if (changed.length > 0) nodes.set(node.id, "changed");
    if (changed.length > 0) fields.set(node.id, changed);
  }
  const removedNodes = published.nodes.filter(({ id }) => !draftIds.has(id));
  for (const { id } of removedNodes) nodes.set(id, "removed");
  const publishedKeys = new Set(published.edges.map(edgeKey));
  const draftKeys = new Set(draft.edges.map(edgeKey));
  const addedEdges = draft.edges.filter((edge) => !publishedKeys.has(edgeKey(edge)));
  const removedEdges = published.edges.filter((edge) => !draftKeys.has(edgeKey(edge)));
  return {
    nodes,
    fields,
    removedNodes,
    addedEdges: new Set(addedEdges.map(({ id }) => id)),
    removedEdges,
    count: nodes.size + addedEdges.length + removedEdges.length,
  };
}

export interface ListedChange {
  key: string;
  change: Change;
  /** The name of the node, or the names of both nodes of an edge. */
  label: string;
  fields: readonly string[];
}

/** Lists the changes: first nodes, then edges. */
export function changesOf(graph: NodesAndEdges, diff: Diff): ListedChange[] {
  const names = new Map([...diff.removedNodes, ...graph.nodes].map(({ id, name }) => [id, name]));
  const labelOf = ({ source, target }: FlowEdge) =>
    `${names.get(source) ?? source} → ${names.get(target) ?? target}`;
  const edgeChange = (edge: FlowEdge, change: Change): ListedChange => ({
    key: `${change} ${edge.id}`,
    change,
    label: labelOf(edge),
    fields: [],
  });
  return [
    ...[...diff.nodes].map(([id, change]) => ({
      key: id,
      change,
      label: names.get(id) ?? id,
      fields: diff.fields.get(id) ?? [],
    })),
    ...graph.edges
      .filter(({ id }) => diff.addedEdges.has(id))
      .map((edge) => edgeChange(edge, "added")),
    ...diff.removedEdges.map((edge) => edgeChange(edge, "removed")),
  ];
}

/**
 * Adds the removed nodes and edges to the graph, so that the canvas can show them. Removed edges get
 * other ids: the draft may use theirs for another edge.
 */
export function withRemoved(graph: Graph, { removedNodes, removedEdges }: Diff): Graph {
  if (removedNodes.length + removedEdges.length === 0) return graph;
  const edges = removedEdges.map((edge) => ({ ...edge, id: `${REMOVED_PREFIX}${edge.id}` }));
  return {
    ...graph,
    nodes: [...graph.nodes, ...removedNodes],
    edges: [...graph.edges, ...edges],
  };
}

const REMOVED_PREFIX = "removed:";
export const isRemovedEdge = (id: string) => id.startsWith(REMOVED_PREFIX);
