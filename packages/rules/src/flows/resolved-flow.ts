/** Resolves a flow for the checks: looks up its node types, and derives its graph and output schemas. */
import { isObject, type JsonSchema } from "../json.ts";
import { isWithin } from "../match/path.ts";
import type { FindAnalysis } from "./analyze-expression.ts";
import { type Graph, graphOf, reachableFrom } from "./graph.ts";
import type { FlowDraft, FlowEdge, FlowNode } from "./model.ts";
import { createNodeSchemas, type ToolContext } from "./node-schemas.ts";
import { ERROR_PORT, type NodeDefinition, type NodeRegistry } from "./node-type.ts";
import type { SkipField } from "./references.ts";
import { splitParameters } from "./split-parameters.ts";

export interface ResolvedFlow {
  flow: Pick<FlowDraft, "nodes" | "edges">;
  graph: Graph<FlowEdge>;
  node(id: string): FlowNode | undefined;
  definition(node: FlowNode): NodeDefinition | undefined;
  triggers: readonly FlowNode[];
  /** The ids of the nodes that a run from a trigger can reach, including the trigger. */
  reach(trigger: FlowNode): ReadonlySet<string>;
  /** Undefined if it is not known before the flow runs. */
  outputSchema(node: FlowNode): JsonSchema | undefined;
  findAnalysis: FindAnalysis;
}

export interface ResolveOptions {
  findAnalysis?: FindAnalysis | undefined;
  tools?: ToolContext | undefined;
}

export function resolveFlow(
  flow: ResolvedFlow["flow"],
  registry: NodeRegistry,
  { findAnalysis = () => undefined, tools }: ResolveOptions = {},
): ResolvedFlow {
  const graph = graphOf(flow);
  const nodes = new Map(flow.nodes.map((node) => [node.id, node]));
  const triggers = flow.nodes.filter((node) => registry.get(node.type)?.kind === "trigger");
  const definition = (node: FlowNode) => registry.get(node.type);
  const reachableIds = new Map(triggers.map(({ id }) => [id, reachableFrom(graph, id)]));
  return {
    flow,
    graph,
    node: (id) => nodes.get(id),
    definition,
    outputSchema: createNodeSchemas({ nodes: flow.nodes, graph, definition, tools }),
    triggers,
    reach: ({ id }) => reachableIds.get(id) ?? new Set(),
    findAnalysis,
  };
}

/** Skips the settings and the `rawFields`, whose strings are not templates. */
export const skipRawFields =
  (definition: NodeDefinition | undefined): SkipField =>
  (keys) =>
    keys[0] === "settings" || (definition?.rawFields.some((path) => isWithin(keys, path)) ?? false);

/** A trigger is active unless its parameters have `isActive: false`. */
export const isActive = ({ parameters }: Pick<FlowNode, "parameters">): boolean =>
  !isObject(parameters) || parameters.isActive !== false;

export interface Branch {
  edges: FlowEdge[];
  /** Whether the nodes of the branch run once per iteration of a loop. */
  isLoopBody: boolean;
}

/** Returns one branch for each output port of a node. Omits the port `error` if it has no edges. */
export function branchesFrom(resolved: ResolvedFlow, id: string): Branch[] {
  const node = resolved.node(id);
  const definition = node && resolved.definition(node);
  const edges = resolved.graph.outgoing(id);
  const ports = (node && definition?.outPorts(splitParameters(node).config)) ?? [];
  return ports
    .map((port) => ({
      port,
      edges: edges.filter((edge) => edge.sourceHandle === port),
      isLoopBody: Object.hasOwn(definition?.locals ?? {}, port),
    }))
    .filter(({ port, edges }) => port !== ERROR_PORT || edges.length > 0);
}
