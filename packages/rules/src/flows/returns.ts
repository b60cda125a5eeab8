/** Which Return nodes a run can reach. */
import { topologicalOrder } from "./graph.ts";
import type { FlowNode } from "./model.ts";
import { branchesFrom, type Subject } from "./subject.ts";

const isResult = (subject: Subject, id: string): boolean => {
  const node = subject.node(id);
  return node !== undefined && subject.definition(node)?.kind === "result";
};

/**
 * Pairs of results that one run can reach. A run reaches both if two edges leave a node by one port
 * and continue to the two results on paths without a common node: a common node could be the one
 * that decides between the results.
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

  // Two walkers as a pair, the one that is earlier in the topological order first. Only that one
  // moves, so two walkers that are never on the same node have taken paths without a common node.
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
  // Iteration over a map includes entries that are added meanwhile.
  for (const [first, second] of pairs.values()) {
    if (isResult(subject, first) && isResult(subject, second))
      found.push([subject.node(first) as FlowNode, subject.node(second) as FlowNode]);
    const moveSecond = isResult(subject, first);
    const [mover, stays] = moveSecond ? [second, first] : [first, second];
    for (const branch of targetsOf(mover)) for (const next of branch) add(next, stays);
  }
  return found;
}

/** The results that a run from a trigger can reach; undefined if it can end without one. */
export function resultsOf(subject: Subject, trigger: FlowNode): FlowNode[] | undefined {
  const alwaysEnds = new Map<string, boolean>();
  // In reverse order, so that the successors of a node are known before the node.
  for (const id of topologicalOrder(subject.graph).reverse()) {
    const branches = mainBranches(subject, id);
    const everyBranchEnds =
      branches.length > 0 &&
      branches.every(({ edges }) => edges.some(({ target }) => alwaysEnds.get(target)));
    alwaysEnds.set(id, isResult(subject, id) || everyBranchEnds);
  }
  if (!alwaysEnds.get(trigger.id)) return undefined;
  // A result inside of a loop is the result of an iteration, not of the run.
  const reached = new Set([trigger.id]);
  for (const id of reached)
    for (const { edges } of mainBranches(subject, id))
      for (const { target } of edges) reached.add(target);
  return [...reached].filter((id) => isResult(subject, id)).flatMap((id) => subject.node(id) ?? []);
}

const mainBranches = (subject: Subject, id: string) =>
  branchesFrom(subject, id).filter(({ repeated }) => !repeated);
