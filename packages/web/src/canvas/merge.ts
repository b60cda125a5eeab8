/**
 * Joins two edits of one flow that started from the same graph. Edits of different things are both
 * kept. Where both have changed the same value, `prefer` decides, and the value is reported.
 */
import type { JsonObject } from "@signalbox/rules/json.ts";
import { isEqual } from "./equal.ts";
import { withFreeSlug } from "./free-slug.ts";
import { ends, type FlowEdge, type FlowNode, type Graph } from "./graph.ts";

export type Side = "mine" | "theirs";

export interface Merged {
  graph: Graph;
  /** The values that both have changed, such as `url of “Fetch”`. */
  collisions: string[];
}

/** The graph with the known objects where nothing has changed: they are not compared or drawn again. */
export function reuseUnchanged(known: Graph, graph: Graph): Graph {
  return {
    ...graph,
    nodes: reuseById(known.nodes, graph.nodes),
    edges: reuseById(known.edges, graph.edges),
  };
}

function reuseById<Item extends { id: string }>(known: readonly Item[], items: Item[]): Item[] {
  const before = new Map(known.map((item) => [item.id, item]));
  return items.map((item) => {
    const same = before.get(item.id);
    return same && isEqual(same, item) ? same : item;
  });
}

export function mergeGraphs(base: Graph, mine: Graph, theirs: Graph, prefer: Side): Merged {
  if (mine === base || isEqual(mine, base)) return { graph: theirs, collisions: [] };
  if (theirs === base || isEqual(theirs, base)) return { graph: mine, collisions: [] };
  const own = withFreeSlugs(base, mine, theirs);
  const collisions: string[] = [];
  const choose = createChoice(prefer, collisions);
  const name = choose("the name of the flow", base.name, own.name, theirs.name);
  const description = choose(
    "the description of the flow",
    base.description,
    own.description,
    theirs.description,
  );
  const nodes = mergeNodes(base, own, theirs, choose);
  const kept = new Set(nodes.map(({ id }) => id));
  const edges = mergeEdges(base.edges, own.edges, theirs.edges).filter(
    ({ source, target }) => kept.has(source) && kept.has(target),
  );
  return { graph: { name, description, nodes, edges }, collisions };
}

type Choose = <Value>(what: string, base: Value, mine: Value, theirs: Value) => Value;

const createChoice =
  (prefer: Side, collisions: string[]): Choose =>
  (what, base, mine, theirs) => {
    if (isEqual(mine, base) || isEqual(mine, theirs)) return theirs;
    if (isEqual(theirs, base)) return mine;
    collisions.push(what);
    return prefer === "mine" ? mine : theirs;
  };

/** Both may have given a node the same slug: then mine gets another one, with its references. */
function withFreeSlugs(base: Graph, mine: Graph, theirs: Graph): Graph {
  const before = new Map(base.nodes.map(({ id, slug }) => [id, slug]));
  let { nodes } = mine;
  for (const { id, slug } of mine.nodes)
    if (before.get(id) !== slug) nodes = withFreeSlug(nodes, id, theirs.nodes);
  return nodes === mine.nodes ? mine : { ...mine, nodes };
}

const byId = (nodes: readonly FlowNode[]) => new Map(nodes.map((node) => [node.id, node]));

/** In the order of theirs, and what only mine has after it. */
function mergeNodes(base: Graph, mine: Graph, theirs: Graph, choose: Choose): FlowNode[] {
  const [before, own, others] = [byId(base.nodes), byId(mine.nodes), byId(theirs.nodes)];
  const ids = new Set([...others.keys(), ...own.keys()]);
  return [...ids].flatMap((id) => {
    const [was, here, there] = [before.get(id), own.get(id), others.get(id)];
    if (here && there === was) return [here];
    if (there && here === was) return [there];
    if (here && there) return [mergeNode(was ?? here, here, there, choose)];
    const left = here ?? there;
    if (!left || !was) return left ? [left] : [];
    return isUntouched(left, was) ||
      !choose(`“${left.name}”, which one edit has deleted`, was, here, there)
      ? []
      : [left];
  });
}

/** A node that was only moved can be deleted by the other edit. */
const isUntouched = (node: FlowNode, was: FlowNode): boolean =>
  isEqual({ ...node, position: was.position }, was);

function mergeNode(was: FlowNode, here: FlowNode, there: FlowNode, choose: Choose): FlowNode {
  const of = `of “${here.name}”`;
  const named = choose(
    `the name ${of}`,
    { name: was.name, slug: was.slug },
    { name: here.name, slug: here.slug },
    { name: there.name, slug: there.slug },
  );
  return {
    id: here.id,
    type: choose(`the type ${of}`, was.type, here.type, there.type),
    ...named,
    // The position changes no run, so it is no reason to ask.
    position: isEqual(here.position, was.position) ? there.position : here.position,
    parameters: mergeParameters(was.parameters, here.parameters, there.parameters, of, choose),
  };
}

function mergeParameters(
  was: JsonObject,
  here: JsonObject,
  there: JsonObject,
  of: string,
  choose: Choose,
): JsonObject {
  const names = new Set([...Object.keys(there), ...Object.keys(here)]);
  const merged: JsonObject = {};
  for (const name of names) {
    const value = choose(`${name} ${of}`, was[name], here[name], there[name]);
    if (value !== undefined) merged[name] = value;
  }
  return merged;
}

/** An edge that one of them has deleted is gone; added ones are kept. */
function mergeEdges(
  base: readonly FlowEdge[],
  mine: readonly FlowEdge[],
  theirs: readonly FlowEdge[],
): FlowEdge[] {
  const [before, own, others] = [base, mine, theirs].map((edges) => new Set(edges.map(ends)));
  const isKept = (edge: FlowEdge) =>
    !before?.has(ends(edge)) || (own?.has(ends(edge)) && others?.has(ends(edge)));
  const added = mine.filter((edge) => !others?.has(ends(edge)));
  return [...theirs, ...added].filter(isKept);
}
