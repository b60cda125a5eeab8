/** How the draft differs from the published version. Positions do not count: they change no run. */
import type { FlowNode, Graph } from "./graph.ts";

type Change = "added" | "changed" | "removed";
type Compared = Pick<Graph, "nodes" | "edges">;

export interface Diff {
  nodes: ReadonlyMap<string, Change>;
  removed: readonly FlowNode[];
  edges: ReadonlySet<string>;
  count: number;
}

const same = (a: FlowNode, b: FlowNode): boolean =>
  a === b ||
  (a.name === b.name &&
    a.type === b.type &&
    JSON.stringify(a.parameters) === JSON.stringify(b.parameters));

const ends = ({ source, sourceHandle, target, targetHandle }: Graph["edges"][number]): string =>
  JSON.stringify([source, sourceHandle, target, targetHandle]);

export function diffOf(draft: Compared, published: Compared): Diff {
  const before = new Map(published.nodes.map((node) => [node.id, node]));
  const now = new Set(draft.nodes.map(({ id }) => id));
  const nodes = new Map<string, Change>();
  for (const node of draft.nodes) {
    const old = before.get(node.id);
    if (!old) nodes.set(node.id, "added");
    else if (!same(node, old)) nodes.set(node.id, "changed");
  }
  const removed = published.nodes.filter(({ id }) => !now.has(id));
  for (const { id } of removed) nodes.set(id, "removed");
  const oldEdges = new Set(published.edges.map(ends));
  const newEdges = new Set(draft.edges.map(ends));
  const edges = new Set(
    draft.edges.filter((edge) => !oldEdges.has(ends(edge))).map(({ id }) => id),
  );
  const goneEdges = [...oldEdges].filter((edge) => !newEdges.has(edge)).length;
  return { nodes, removed, edges, count: nodes.size + edges.size + goneEdges };
}
