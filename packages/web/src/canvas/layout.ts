/** Computes the positions of nodes, from left to right, with dagre. */
import dagre from "@dagrejs/dagre";
import type { Point } from "./graph.ts";

const TILE = { width: 208, height: 74 } as const;

export interface LayoutInput {
  nodes: readonly { id: string; height: number }[];
  edges: readonly { source: string; target: string }[];
}

export function layOut({ nodes, edges }: LayoutInput): Record<string, Point> {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", nodesep: 44, ranksep: 70, marginx: 40, marginy: 52 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, height } of nodes) graph.setNode(id, { width: TILE.width, height });
  for (const [index, { source, target }] of edges.entries())
    if (graph.hasNode(source) && graph.hasNode(target))
      graph.setEdge(source, target, {}, String(index));
  dagre.layout(graph);
  return Object.fromEntries(
    nodes.map(({ id, height }) => {
      const { x, y } = graph.node(id);
      return [id, { x: Math.round(x - TILE.width / 2), y: Math.round(y - height / 2) }];
    }),
  );
}
