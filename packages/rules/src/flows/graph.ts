/** Algorithms on the graph of a flow. Edges to nodes that do not exist are ignored. */
export interface GraphEdge {
  source: string;
  sourceHandle: string;
  target: string;
}

export interface Graph<Edge extends GraphEdge = GraphEdge> {
  /** Node ids, in the order of the flow. */
  readonly ids: readonly string[];
  outgoing(id: string): readonly Edge[];
  incoming(id: string): readonly Edge[];
}

export function graphOf<Edge extends GraphEdge>(flow: {
  nodes: readonly { id: string }[];
  edges: readonly Edge[];
}): Graph<Edge> {
  const ids = new Set(flow.nodes.map(({ id }) => id));
  const edges = flow.edges.filter(({ source, target }) => ids.has(source) && ids.has(target));
  const bySource = Map.groupBy(edges, ({ source }) => source);
  const byTarget = Map.groupBy(edges, ({ target }) => target);
  return {
    ids: [...ids],
    outgoing: (id) => bySource.get(id) ?? [],
    incoming: (id) => byTarget.get(id) ?? [],
  };
}

/** Returns the node itself and all nodes that can run after it. */
export const reachableFrom = (graph: Graph, id: string): Set<string> =>
  traverse([id], (from) => graph.outgoing(from).map(({ target }) => target));

/** Returns all nodes that can run after an output on one port of a node. */
export const reachableThrough = (graph: Graph, id: string, port: string): Set<string> =>
  traverse(
    graph.outgoing(id).flatMap((edge) => (edge.sourceHandle === port ? [edge.target] : [])),
    (from) => graph.outgoing(from).map(({ target }) => target),
  );

/** Returns all nodes that can run before a node; the node itself only if it is in a cycle. */
export const ancestorsOf = (graph: Graph, id: string): Set<string> =>
  traverse(
    graph.incoming(id).map(({ source }) => source),
    (from) => graph.incoming(from).map(({ source }) => source),
  );

function traverse(start: readonly string[], next: (id: string) => readonly string[]): Set<string> {
  // Iteration over a set includes entries that are added during the iteration.
  const reached = new Set(start);
  for (const id of reached) for (const other of next(id)) reached.add(other);
  return reached;
}

/** Kahn's algorithm. Nodes in a cycle, or after one, are omitted. */
export function topologicalOrder(graph: Graph): string[] {
  const inDegrees = new Map(graph.ids.map((id) => [id, graph.incoming(id).length]));
  const order = graph.ids.filter((id) => inDegrees.get(id) === 0);
  for (const id of order)
    for (const { target } of graph.outgoing(id)) {
      const inDegree = (inDegrees.get(target) ?? 0) - 1;
      inDegrees.set(target, inDegree);
      if (inDegree === 0) order.push(target);
    }
  return order;
}

/** Returns disjoint cycles. Each cycle starts at its first node in the order of the flow. */
export function findCycles(graph: Graph): string[][] {
  const cycles: string[][] = [];
  let ids = graph.ids;
  for (;;) {
    const remainingIds = new Set(ids);
    const remaining = {
      ids,
      outgoing: (id: string) => graph.outgoing(id).filter(({ target }) => remainingIds.has(target)),
      incoming: (id: string) => graph.incoming(id).filter(({ source }) => remainingIds.has(source)),
    };
    const ordered = new Set(topologicalOrder(remaining));
    const unordered = ids.find((id) => !ordered.has(id));
    if (unordered === undefined) return cycles;
    // Each unordered node has an unordered predecessor, so a walk backwards ends in a cycle.
    const path = [unordered];
    for (;;) {
      const predecessor = remaining
        .incoming(path[0] as string)
        .find(({ source }) => !ordered.has(source))?.source as string;
      const repeated = path.indexOf(predecessor);
      if (repeated !== -1) {
        const cycle = path.slice(0, repeated + 1);
        cycles.push(startAtFirst(cycle, graph.ids));
        ids = ids.filter((id) => !cycle.includes(id));
        break;
      }
      path.unshift(predecessor);
    }
  }
}

function startAtFirst(cycle: string[], ids: readonly string[]): string[] {
  const first = ids.find((id) => cycle.includes(id)) as string;
  const at = cycle.indexOf(first);
  return [...cycle.slice(at), ...cycle.slice(0, at)];
}
