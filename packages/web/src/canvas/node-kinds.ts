/** How each type of node looks and where its tracks begin, read from the rules that the hub uses too. */
import {
  ERROR_PORT,
  type NodeDefinition,
  type NodeRegistry,
} from "@signalbox/rules/flows/node-type.ts";
import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import { z } from "zod";
import type { FlowNode } from "./graph.ts";

// The CSP forbids `eval`, which Zod would use to compile its checks.
z.config({ jitless: true });

export const registry: NodeRegistry = nodeTypes;
export { ERROR_PORT };

export const definitionOf = ({ type }: Pick<FlowNode, "type">): NodeDefinition | undefined =>
  registry.get(type);

/** A config that is not valid yet keeps the ports of the sample, so that no edge loses its end. */
export function outPortsOf({ type, parameters }: Pick<FlowNode, "type" | "parameters">): string[] {
  const definition = registry.get(type);
  if (!definition) return ["out", ERROR_PORT];
  const { settings: _, ...config } = parameters;
  return [
    ...(definition.outPorts(config) ?? definition.outPorts(definition.sample.config) ?? ["out"]),
  ];
}

export const inPortsOf = (node: Pick<FlowNode, "type">): readonly string[] =>
  definitionOf(node)?.inPorts ?? ["in"];
