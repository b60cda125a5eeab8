/** The part of a draft that a test executes. Pure. */
import { triggerOf } from "@signalbox/rules/flows/check-calls.ts";
import { ancestorsOf, graphOf, reachableFrom } from "@signalbox/rules/flows/graph.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import { ITEM_PORT, type NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { RequestError } from "../lib/request-error.ts";
import type { FlowGraph } from "../store/flow-store.ts";

export interface DraftPart {
  graph: FlowGraph;
  trigger: FlowNode;
}

/** The nodes that a run from this trigger can reach. */
export function partFrom(draft: FlowGraph, name: string, registry: NodeRegistry): DraftPart {
  const trigger = triggerOf(triggersIn(draft, registry), name);
  if (!trigger)
    throw new RequestError("invalid", "trigger", `The draft has no trigger ${name.slice(0, 100)}.`);
  return { trigger, graph: restrict(draft, reachableFrom(graphOf(draft), trigger.id)) };
}

/** A node, a trigger that reaches it, and the nodes between them. */
export function partBefore(
  draft: FlowGraph,
  node: FlowNode,
  wanted: string | undefined,
  registry: NodeRegistry,
): DraftPart {
  if (registry.get(node.type)?.kind === "trigger")
    throw new RequestError("invalid", "node", "is a trigger: run the draft from it instead");
  const graph = graphOf(draft);
  const before = ancestorsOf(graph, node.id);
  const triggers = triggersIn(draft, registry).filter(({ id }) => before.has(id));
  const trigger = wanted === undefined ? triggers[0] : triggerOf(triggers, wanted);
  if (!trigger)
    throw new RequestError(
      "invalid",
      "trigger",
      wanted === undefined
        ? `${node.name} cannot be reached from a trigger: connect it first`
        : `${wanted.slice(0, 100)} is no trigger that reaches ${node.name}`,
    );
  const between = reachableFrom(graph, trigger.id);
  const ids = new Set([...before].filter((id) => between.has(id)).concat(node.id));
  const part = restrict(draft, ids);
  const loop = part.edges.find(
    ({ source, sourceHandle }) =>
      sourceHandle === ITEM_PORT &&
      isLoop(
        draft.nodes.find(({ id }) => id === source),
        registry,
      ),
  );
  if (loop)
    throw new RequestError(
      "invalid",
      "node",
      `${node.name} is inside of a loop: run the draft instead, with pinned data`,
    );
  return { graph: part, trigger };
}

const isLoop = (node: FlowNode | undefined, registry: NodeRegistry): boolean =>
  (registry.get(node?.type ?? "")?.locals[ITEM_PORT] ?? []).length > 0;

const triggersIn = ({ nodes }: FlowGraph, registry: NodeRegistry): FlowNode[] =>
  nodes.filter(({ type }) => registry.get(type)?.kind === "trigger");

const restrict = ({ nodes, edges }: FlowGraph, ids: ReadonlySet<string>): FlowGraph => ({
  nodes: nodes.filter(({ id }) => ids.has(id)),
  edges: edges.filter(({ source, target }) => ids.has(source) && ids.has(target)),
});
