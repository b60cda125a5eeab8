/** How the draft differs from the published version. Positions do not count: they change no run. */
import { isEqual } from "./equal.ts";
import { ends, type FlowEdge, type FlowNode, type Graph } from "./graph.ts";

type Change = "added" | "changed" | "removed";
type Compared = Pick<Graph, "nodes" | "edges">;

export interface Diff {
  nodes: ReadonlyMap<string, Change>;
  /** The changed parameters of each changed node, and `name` or `type`. */
  fields: ReadonlyMap<string, readonly string[]>;
  removed: readonly FlowNode[];
  /** The ids of new edges. */
  edges: ReadonlySet<string>;
  removedEdges: readonly FlowEdge[];
  count: number;
}

function fieldsOf(now: FlowNode, before: FlowNode): string[] {
  if (now === before) return [];
  const names = new Set([...Object.keys(before.parameters), ...Object.keys(now.parameters)]);
  return [
    ...(["name", "type"] as const).filter((field) => now[field] !== before[field]),
    ...[...names].filter((name) => !isEqual(now.parameters[name], before.parameters[name])),
  ];
}

export function diffOf(draft: Compared, published: Compared): Diff {
  const before = new Map(published.nodes.map((node) => [node.id, node]));
  const now = new Set(draft.nodes.map(({ id }) => id));
  const nodes = new Map<string, Change>();
  const fields = new Map<string, readonly string[]>();
  for (const node of draft.nodes) {
    const old = before.get(node.id);
    const changed = old ? fieldsOf(node, old) : [];
    if (!old) nodes.set(node.id, "added");
    else if (changed.length > 0) nodes.set(node.id, "changed");
    if (changed.length > 0) fields.set(node.id, changed);
  }
  const removed = published.nodes.filter(({ id }) => !now.has(id));
  for (const { id } of removed) nodes.set(id, "removed");
  const oldEnds = new Set(published.edges.map(ends));
  const newEnds = new Set(draft.edges.map(ends));
  const edges = draft.edges.filter((edge) => !oldEnds.has(ends(edge)));
  const removedEdges = published.edges.filter((edge) => !newEnds.has(ends(edge)));
  return {
    nodes,
    fields,
    removed,
    edges: new Set(edges.map(({ id }) => id)),
    removedEdges,
    count: nodes.size + edges.length + removedEdges.length,
  };
}

export interface ListedChange {
  key: string;
  change: Change;
  what: string;
  fields: readonly string[];
}

/** The changes as a list: nodes, then edges. */
export function changesOf(graph: Compared, diff: Diff): ListedChange[] {
  const names = new Map([...diff.removed, ...graph.nodes].map(({ id, name }) => [id, name]));
  const track = ({ source, target }: FlowEdge) =>
    `${names.get(source) ?? source} → ${names.get(target) ?? target}`;
  const ofEdge = (edge: FlowEdge, change: Change): ListedChange => ({
    key: `${change} ${edge.id}`,
    change,
    what: track(edge),
    fields: [],
  });
  return [
    ...[...diff.nodes].map(([id, change]) => ({
      key: id,
      change,
      what: names.get(id) ?? id,
      fields: diff.fields.get(id) ?? [],
    })),
    ...graph.edges.filter(({ id }) => diff.edges.has(id)).map((edge) => ofEdge(edge, "added")),
    ...diff.removedEdges.map((edge) => ofEdge(edge, "removed")),
  ];
}

/** Draws what was removed where it stood. Ids of removed edges differ from those of the draft. */
export function withRemoved(graph: Graph, { removed, removedEdges }: Diff): Graph {
  if (removed.length + removedEdges.length === 0) return graph;
  const ghosts = removedEdges.map((edge) => ({ ...edge, id: ghostOf(edge) }));
  return {
    ...graph,
    nodes: [...graph.nodes, ...removed],
    edges: [...graph.edges, ...ghosts],
  };
}

const GHOST = "removed:";
const ghostOf = ({ id }: Pick<FlowEdge, "id">) => `${GHOST}${id}`;
export const isRemovedEdge = (id: string) => id.startsWith(GHOST);
