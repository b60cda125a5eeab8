/** What follows from nodes and edges alone. An edge to a node that is not there leads nowhere. */
export interface GraphEdge {
  source: string;
  sourceHandle: string;
  target: string;
}

export interface Graph<Edge extends GraphEdge = GraphEdge> {
  /** Node ids, in the order in which they were given. */
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

/** The node itself and all that can run after it. */
export const reachableFrom = (graph: Graph, id: string): Set<string> =>
  spread([id], (from) => graph.outgoing(from).map(({ target }) => target));

/** All that can run after something left by one port of a node. */
export const reachableThrough = (graph: Graph, id: string, port: string): Set<string> =>
  spread(
    graph.outgoing(id).flatMap((edge) => (edge.sourceHandle === port ? [edge.target] : [])),
    (from) => graph.outgoing(from).map(({ target }) => target),
  );

/** All that may have run before a node; the node itself only where it is in a cycle. */
export const ancestorsOf = (graph: Graph, id: string): Set<string> =>
  spread(
    graph.incoming(id).map(({ source }) => source),
    (from) => graph.incoming(from).map(({ source }) => source),
  );

function spread(from: readonly string[], next: (id: string) => readonly string[]): Set<string> {
  // A set takes in what is added while it is walked.
  const reached = new Set(from);
  for (const id of reached) for (const other of next(id)) reached.add(other);
  return reached;
}

/** The edges that a node waits for on a run that reaches these nodes; what is not reached never comes. */
export const waitsFor = <Edge extends GraphEdge>(
  graph: Graph<Edge>,
  id: string,
  reachable: ReadonlySet<string>,
): Edge[] => graph.incoming(id).filter(({ source }) => reachable.has(source));

/** Every node after all that lead to it. Nodes in a cycle, or after one, have no place. */
export function topologicalOrder(graph: Graph): string[] {
  const missing = new Map(graph.ids.map((id) => [id, graph.incoming(id).length]));
  const order = graph.ids.filter((id) => missing.get(id) === 0);
  for (const id of order)
    for (const { target } of graph.outgoing(id)) {
      const left = (missing.get(target) ?? 0) - 1;
      missing.set(target, left);
      if (left === 0) order.push(target);
    }
  return order;
}

/** Cycles that share no node, each from its first node in the order of the flow. */
export function findCycles(graph: Graph): string[][] {
  const cycles: string[][] = [];
  let ids = graph.ids;
  for (;;) {
    const inside = new Set(ids);
    const rest = {
      ids,
      outgoing: (id: string) => graph.outgoing(id).filter(({ target }) => inside.has(target)),
      incoming: (id: string) => graph.incoming(id).filter(({ source }) => inside.has(source)),
    };
    const ordered = new Set(topologicalOrder(rest));
    const stuck = ids.find((id) => !ordered.has(id));
    if (stuck === undefined) return cycles;
    // Each node that is stuck comes after another one that is: going back must come round.
    const way = [stuck];
    for (;;) {
      const before = rest.incoming(way[0] as string).find(({ source }) => !ordered.has(source))
        ?.source as string;
      const round = way.indexOf(before);
      if (round !== -1) {
        const cycle = way.slice(0, round + 1);
        cycles.push(startAtFirst(cycle, graph.ids));
        ids = ids.filter((id) => !cycle.includes(id));
        break;
      }
      way.unshift(before);
    }
  }
}

function startAtFirst(cycle: string[], ids: readonly string[]): string[] {
  const first = ids.find((id) => cycle.includes(id)) as string;
  const at = cycle.indexOf(first);
  return [...cycle.slice(at), ...cycle.slice(0, at)];
}
