/** Finds the result nodes that a run can reach. */
import { topologicalOrder } from "./graph.ts";
import type { FlowNode } from "./model.ts";
import { branchesFrom, type Subject } from "./subject.ts";

const isResult = (subject: Subject, id: string): boolean => {
  const node = subject.node(id);
  return node !== undefined && subject.definition(node)?.kind === "result";
};

/**
 * Pairs of results that one run can reach. A run can reach both if two edges from one port of a node
 * lead to the two results on disjoint paths. Paths with a common node do not count, because that node
 * could choose between the results.
 */
export function returnsOnOnePath(subject: Subject): [FlowNode, FlowNode][] {
  const order = new Map(topologicalOrder(subject.graph).map((id, at) => [id, at]));
  const position = (id: string) => order.get(id) ?? -1;
  const targets = new Map<string, string[][]>();
  const targetsOf = (id: string) => {
    const known = targets.get(id);
    if (known) return known;
    const branches = branchesFrom(subject, id).map(({ edges }) => [
      ...new Set(edges.map(({ target }) => target).filter((target) => order.has(target))),
    ]);
    targets.set(id, branches);
    return branches;
  };

  // Positions on two paths, the earlier one in topological order first. Only the earlier position
  // advances, so paths whose positions are never equal are disjoint.
  const pairs = new Map<string, [string, string]>();
  const add = (a: string, b: string) => {
    if (a === b) return;
    const pair: [string, string] = position(a) < position(b) ? [a, b] : [b, a];
    pairs.set(pair.join("\n"), pair);
  };
  for (const trigger of subject.triggers)
    for (const id of subject.reach(trigger))
      for (const branch of targetsOf(id)) for (const a of branch) for (const b of branch) add(a, b);

  const found: [FlowNode, FlowNode][] = [];
  // Iteration over a map includes entries that are added during the iteration.
  for (const [first, second] of pairs.values()) {
    const isFirstResult = isResult(subject, first);
    if (isFirstResult && isResult(subject, second))
      found.push([subject.node(first) as FlowNode, subject.node(second) as FlowNode]);
    // A path ends at a result. If the first path has ended, the second one advances.
    const [moving, fixed] = isFirstResult ? [second, first] : [first, second];
    for (const branch of targetsOf(moving)) for (const next of branch) add(next, fixed);
  }
  return found;
}

/** The results that a run from a trigger can reach; undefined if the run can end without a result. */
export function resultsOf(subject: Subject, trigger: FlowNode): FlowNode[] | undefined {
  const leadsToResult = new Map<string, boolean>();
  // In reverse order, so that the successors of a node are known before the node.
  for (const id of topologicalOrder(subject.graph).reverse()) {
    const branches = mainBranches(subject, id);
    const everyBranchLeads =
      branches.length > 0 &&
      branches.every(({ edges }) => edges.some(({ target }) => leadsToResult.get(target)));
    leadsToResult.set(id, isResult(subject, id) || everyBranchLeads);
  }
  if (!leadsToResult.get(trigger.id)) return undefined;
  const reached = new Set([trigger.id]);
  for (const id of reached)
    for (const { edges } of mainBranches(subject, id))
      for (const { target } of edges) reached.add(target);
  return [...reached].filter((id) => isResult(subject, id)).flatMap((id) => subject.node(id) ?? []);
}

/** Without loops: a result inside a loop is the result of an iteration, not of the run. */
const mainBranches = (subject: Subject, id: string) =>
  branchesFrom(subject, id).filter(({ repeated }) => !repeated);
