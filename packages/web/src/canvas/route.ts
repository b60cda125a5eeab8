/** The nodes and edges that a run from a node can reach. */
import { graphOf, reachableFrom } from "@signalbox/rules/flows/graph.ts";
import type { Graph } from "./graph.ts";

export interface Route {
  nodes: ReadonlySet<string>;
  edges: ReadonlySet<string>;
}

export const NO_ROUTE: Route = { nodes: new Set(), edges: new Set() };

export function routeFrom(graph: Pick<Graph, "nodes" | "edges">, id: string): Route {
  const nodes = reachableFrom(graphOf(graph), id);
  const edges = graph.edges.filter(({ source, target }) => nodes.has(source) && nodes.has(target));
  return { nodes, edges: new Set(edges.map((edge) => edge.id)) };
}
