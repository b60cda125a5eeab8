/** Selects the nodes and edges of a draft that a test executes. Pure. */
import { triggerOf } from "@signalbox/rules/flows/check-calls.ts";
import { ancestorsOf, graphOf, reachableFrom } from "@signalbox/rules/flows/graph.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import { ITEM_PORT, type NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { FlowGraph } from "../model.ts";

export interface DraftSubgraph {
  graph: FlowGraph;
  trigger: FlowNode;
}

/** Returns the nodes that a run from this trigger can reach. */
export function subgraphFrom(
  draft: FlowGraph,
  name: string,
  registry: NodeRegistry,
): DraftSubgraph {
  const trigger = triggerOf(triggersIn(draft, registry), name);
  if (!trigger)
    throw new RequestError("invalid", "trigger", `The draft has no trigger ${name.slice(0, 100)}.`);
  return { trigger, graph: restrict(draft, reachableFrom(graphOf(draft), trigger.id)) };
}

/** Returns the node, a trigger that reaches it, and the nodes between them. */
export function subgraphBefore(
  draft: FlowGraph,
  node: FlowNode,
  triggerName: string | undefined,
  registry: NodeRegistry,
): DraftSubgraph {
  if (registry.get(node.type)?.kind === "trigger")
    throw new RequestError("invalid", "node", "is a trigger: run the draft from it instead");
  const graph = graphOf(draft);
  const ancestors = ancestorsOf(graph, node.id);
  const triggers = triggersIn(draft, registry).filter(({ id }) => ancestors.has(id));
  const trigger = triggerName === undefined ? triggers[0] : triggerOf(triggers, triggerName);
  if (!trigger)
    throw new RequestError(
      "invalid",
      "trigger",
      triggerName === undefined
        ? `${node.name} cannot be reached from a trigger: connect it first`
        : `${triggerName.slice(0, 100)} is not a trigger that reaches ${node.name}`,
    );
  const reachable = reachableFrom(graph, trigger.id);
  const ids = new Set([...ancestors].filter((id) => reachable.has(id)).concat(node.id));
  const subgraph = restrict(draft, ids);
  const loopEdge = subgraph.edges.find(
    ({ source, sourceHandle }) =>
      sourceHandle === ITEM_PORT &&
      isLoop(
        draft.nodes.find(({ id }) => id === source),
        registry,
      ),
  );
  if (loopEdge)
    throw new RequestError(
      "invalid",
      "node",
      `${node.name} is inside of a loop: run the draft instead, with pinned data`,
    );
  return { graph: subgraph, trigger };
}

const isLoop = (node: FlowNode | undefined, registry: NodeRegistry): boolean =>
  (registry.get(node?.type ?? "")?.locals[ITEM_PORT] ?? []).length > 0;

const triggersIn = ({ nodes }: FlowGraph, registry: NodeRegistry): FlowNode[] =>
  nodes.filter(({ type }) => registry.get(type)?.kind === "trigger");

const restrict = ({ nodes, edges }: FlowGraph, ids: ReadonlySet<string>): FlowGraph => ({
  nodes: nodes.filter(({ id }) => ids.has(id)),
  edges: edges.filter(({ source, target }) => ids.has(source) && ids.has(target)),
});
