/** Finds the result nodes that a run can reach. */
import { topologicalOrder } from "./graph.ts";
import type { FlowNode } from "./model.ts";
import { branchesFrom, type ResolvedFlow } from "./resolved-flow.ts";

const isResult = (resolved: ResolvedFlow, id: string): boolean => {
  const node = resolved.node(id);
  return node !== undefined && resolved.definition(node)?.kind === "result";
};

/**
 * Returns pairs of results that one run can both reach, the earlier one in topological order first. A
 * result is the second of one pair at most. A run can reach both results if two edges from one port of a
 * node lead to them on disjoint paths. Paths with a common node do not count, because that node could
 * choose between the results.
 */
export function resultsInOneRun(resolved: ResolvedFlow): [FlowNode, FlowNode][] {
  const order = new Map(topologicalOrder(resolved.graph).map((id, index) => [id, index]));
  const position = (id: string) => order.get(id) ?? -1;
  const targets = new Map<string, string[][]>();
  const targetsOf = (id: string) => {
    const cached = targets.get(id);
    if (cached) return cached;
    const branches = branchesFrom(resolved, id).map(({ edges }) => [
      ...new Set(edges.map(({ target }) => target).filter((target) => order.has(target))),
    ]);
    targets.set(id, branches);
    return branches;
  };

  // Each pair contains the current nodes of two paths, the earlier one in topological order first. Only
  // the earlier node advances along its path, so two paths are disjoint if their nodes are never equal.
  const pairs = new Map<number, [string, string]>();
  const add = (a: string, b: string) => {
    if (a === b) return;
    const [first, second] = position(a) < position(b) ? [a, b] : [b, a];
    const key = position(first) * order.size + position(second);
    if (!pairs.has(key)) pairs.set(key, [first, second]);
  };
  for (const trigger of resolved.triggers)
    for (const id of resolved.reach(trigger))
      for (const branch of targetsOf(id))
        for (const [index, a] of branch.entries())
          for (const b of branch.slice(index + 1)) add(a, b);

  const resultPairs = new Map<string, [FlowNode, FlowNode]>();
  // Iteration over a map includes entries that are added during the iteration.
  for (const [first, second] of pairs.values()) {
    const isFirstResult = isResult(resolved, first);
    if (isFirstResult && !resultPairs.has(second) && isResult(resolved, second))
      resultPairs.set(second, [
        resolved.node(first) as FlowNode,
        resolved.node(second) as FlowNode,
      ]);
    // A path ends at a result. If the first path has ended, the second one advances.
    const [moving, fixed] = isFirstResult ? [second, first] : [first, second];
    for (const branch of targetsOf(moving)) for (const next of branch) add(next, fixed);
  }
  return [...resultPairs.values()];
}

/** The results that a run from a trigger can reach; undefined if the run can end without a result. */
export function resultsOf(resolved: ResolvedFlow, trigger: FlowNode): FlowNode[] | undefined {
  const leadsToResult = new Map<string, boolean>();
  // The order is reversed, so that the successors of a node are visited before the node.
  for (const id of topologicalOrder(resolved.graph).reverse()) {
    const branches = mainBranches(resolved, id);
    const everyBranchLeads =
      branches.length > 0 &&
      branches.every(({ edges }) => edges.some(({ target }) => leadsToResult.get(target)));
    leadsToResult.set(id, isResult(resolved, id) || everyBranchLeads);
  }
  if (!leadsToResult.get(trigger.id)) return undefined;
  const reached = new Set([trigger.id]);
  for (const id of reached)
    for (const { edges } of mainBranches(resolved, id))
      for (const { target } of edges) reached.add(target);
  return [...reached]
    .filter((id) => isResult(resolved, id))
    .flatMap((id) => resolved.node(id) ?? []);
}

/** Omits the bodies of loops: a result inside a loop is the result of an iteration, not of the run. */
const mainBranches = (resolved: ResolvedFlow, id: string) =>
  branchesFrom(resolved, id).filter(({ isLoopBody }) => !isLoopBody);
