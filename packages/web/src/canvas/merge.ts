/**
 * A three-way merge of two edits of the same graph. Edits of different values are both kept. If both
 * edits have changed the same value, `prefer` decides, and the value is reported as a collision.
 */
import type { JsonObject } from "@signalbox/rules/json.ts";
import { isEqual } from "./equal.ts";
import { withFreeSlug } from "./free-slug.ts";
import { edgeKey, type FlowEdge, type FlowNode, type Graph } from "./graph.ts";

export type Side = "mine" | "theirs";

export interface MergeResult {
  graph: Graph;
  /** The values that both edits have changed, such as `url of “Fetch”`. */
  collisions: string[];
}

/**
 * Returns a graph equal to `graph` that reuses the nodes and edges of `previous` where they are equal.
 * Objects with the same identity are not compared or rendered again.
 */
export function reuseUnchanged(previous: Graph, graph: Graph): Graph {
  return {
    ...graph,
    nodes: reuseById(previous.nodes, graph.nodes),
    edges: reuseById(previous.edges, graph.edges),
  };
}

function reuseById<Item extends { id: string }>(previous: readonly Item[], items: Item[]): Item[] {
  const previousById = new Map(previous.map((item) => [item.id, item]));
  return items.map((item) => {
    const before = previousById.get(item.id);
    return before && isEqual(before, item) ? before : item;
  });
}

export function mergeGraphs(base: Graph, mine: Graph, theirs: Graph, prefer: Side): MergeResult {
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
  const nodeIds = new Set(nodes.map(({ id }) => id));
  const edges = mergeEdges(base.edges, own.edges, theirs.edges).filter(
    ({ source, target }) => nodeIds.has(source) && nodeIds.has(target),
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

/** If both edits use the same slug for different nodes, the node of `mine` gets another slug, and its references are updated. */
function withFreeSlugs(base: Graph, mine: Graph, theirs: Graph): Graph {
  const baseSlugs = new Map(base.nodes.map(({ id, slug }) => [id, slug]));
  let { nodes } = mine;
  for (const { id, slug } of mine.nodes)
    if (baseSlugs.get(id) !== slug) nodes = withFreeSlug(nodes, id, theirs.nodes);
  return nodes === mine.nodes ? mine : { ...mine, nodes };
}

const byId = (nodes: readonly FlowNode[]) => new Map(nodes.map((node) => [node.id, node]));

/** Returns the nodes in the order of `theirs`, followed by those that only `mine` has. */
function mergeNodes(base: Graph, mine: Graph, theirs: Graph, choose: Choose): FlowNode[] {
  const baseNodes = byId(base.nodes);
  const myNodes = byId(mine.nodes);
  const theirNodes = byId(theirs.nodes);
  const ids = new Set([...theirNodes.keys(), ...myNodes.keys()]);
  return [...ids].flatMap((id) => {
    const [was, my, their] = [baseNodes.get(id), myNodes.get(id), theirNodes.get(id)];
    if (my && their === was) return [my];
    if (their && my === was) return [their];
    if (my && their) return [mergeNode(was ?? my, my, their, choose)];
    // At most one of the edits still has the node.
    const remaining = my ?? their;
    if (!remaining || !was) return remaining ? [remaining] : [];
    return isOnlyMoved(remaining, was) ||
      !choose(`“${remaining.name}”, which one edit has deleted`, was, my, their)
      ? []
      : [remaining];
  });
}

/** Moving a node does not prevent the other edit from deleting it. */
const isOnlyMoved = (node: FlowNode, was: FlowNode): boolean =>
  isEqual({ ...node, position: was.position }, was);

function mergeNode(base: FlowNode, mine: FlowNode, theirs: FlowNode, choose: Choose): FlowNode {
  const ofNode = `of “${mine.name}”`;
  // A slug is derived from the name, so both are chosen together.
  const nameAndSlug = choose(
    `the name ${ofNode}`,
    { name: base.name, slug: base.slug },
    { name: mine.name, slug: mine.slug },
    { name: theirs.name, slug: theirs.slug },
  );
  return {
    id: mine.id,
    type: choose(`the type ${ofNode}`, base.type, mine.type, theirs.type),
    ...nameAndSlug,
    // The position does not affect runs, so different positions are not a collision.
    position: isEqual(mine.position, base.position) ? theirs.position : mine.position,
    parameters: mergeParameters(
      base.parameters,
      mine.parameters,
      theirs.parameters,
      ofNode,
      choose,
    ),
  };
}

function mergeParameters(
  base: JsonObject,
  mine: JsonObject,
  theirs: JsonObject,
  ofNode: string,
  choose: Choose,
): JsonObject {
  const names = new Set([...Object.keys(theirs), ...Object.keys(mine)]);
  const merged: JsonObject = {};
  for (const name of names) {
    const value = choose(`${name} ${ofNode}`, base[name], mine[name], theirs[name]);
    if (value !== undefined) merged[name] = value;
  }
  return merged;
}

/** Keeps added edges, and drops those that one of the edits has deleted. */
function mergeEdges(
  base: readonly FlowEdge[],
  mine: readonly FlowEdge[],
  theirs: readonly FlowEdge[],
): FlowEdge[] {
  const [inBase, inMine, inTheirs] = [base, mine, theirs].map(
    (edges) => new Set(edges.map(edgeKey)),
  );
  const isKept = (edge: FlowEdge) => {
    const key = edgeKey(edge);
    return !inBase?.has(key) || (inMine?.has(key) && inTheirs?.has(key));
  };
  const added = mine.filter((edge) => !inTheirs?.has(edgeKey(edge)));
  return [...theirs, ...added].filter(isKept);
}
