/** Which results a run can come to. */
import { topologicalOrder } from "./graph.ts";
import type { FlowNode } from "./model.ts";
import { type Subject, waysFrom } from "./subject.ts";

const isResult = (subject: Subject, id: string): boolean => {
  const node = subject.node(id);
  return node !== undefined && subject.definition(node)?.kind === "result";
};

/**
 * Pairs of results that one run can both reach. There is such a run where a node leads on by one
 * port to two nodes, and from those to the two results by ways that do not meet: a node in which
 * they met could be the one that decides between them.
 */
export function returnsOnOnePath(subject: Subject): [FlowNode, FlowNode][] {
  const order = new Map(topologicalOrder(subject.graph).map((id, at) => [id, at]));
  const place = (id: string) => order.get(id) ?? -1;
  const targets = new Map<string, string[][]>();
  const waysOn = (id: string) => {
    const known = targets.get(id);
    if (known) return known;
    const ways = waysFrom(subject, id).map(({ edges }) => [
      ...new Set(edges.map(({ target }) => target).filter((target) => order.has(target))),
    ]);
    targets.set(id, ways);
    return ways;
  };

  // The two walkers as a pair, the one that is earlier in the order first. Always that one moves on,
  // so two that never stand on one node have taken ways that never meet.
  const pairs = new Map<string, [string, string]>();
  const add = (a: string, b: string) => {
    if (a === b) return;
    const pair: [string, string] = place(a) < place(b) ? [a, b] : [b, a];
    pairs.set(pair.join("\n"), pair);
  };
  for (const trigger of subject.triggers)
    for (const id of subject.reach(trigger))
      for (const way of waysOn(id)) for (const a of way) for (const b of way) add(a, b);

  const found: [FlowNode, FlowNode][] = [];
  // A map takes in what is added while it is walked.
  for (const [first, second] of pairs.values()) {
    if (isResult(subject, first) && isResult(subject, second))
      found.push([subject.node(first) as FlowNode, subject.node(second) as FlowNode]);
    const moveSecond = isResult(subject, first);
    const [mover, stays] = moveSecond ? [second, first] : [first, second];
    for (const way of waysOn(mover)) for (const next of way) add(next, stays);
  }
  return found;
}

/** The results that a run from a trigger can come to; undefined where it may end without one. */
export function resultsOf(subject: Subject, trigger: FlowNode): FlowNode[] | undefined {
  const sure = new Map<string, boolean>();
  // From the end to the beginning, so that what comes after a node is known before it.
  for (const id of topologicalOrder(subject.graph).reverse()) {
    const ways = mainWays(subject, id);
    const everyWayEnds =
      ways.length > 0 && ways.every(({ edges }) => edges.some(({ target }) => sure.get(target)));
    sure.set(id, isResult(subject, id) || everyWayEnds);
  }
  if (!sure.get(trigger.id)) return undefined;
  // A result inside of a loop is that of its round. A set takes in what is added while it is walked.
  const reached = new Set([trigger.id]);
  for (const id of reached)
    for (const { edges } of mainWays(subject, id))
      for (const { target } of edges) reached.add(target);
  return [...reached].filter((id) => isResult(subject, id)).flatMap((id) => subject.node(id) ?? []);
}

const mainWays = (subject: Subject, id: string) =>
  waysFrom(subject, id).filter(({ repeated }) => !repeated);
