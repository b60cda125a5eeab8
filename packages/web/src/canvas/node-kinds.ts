/** The definitions and ports of node types, from the rules package that the hub uses too. */
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

/** If the parameters are not valid yet, returns the ports of the sample config, so that edges keep their ports. */
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
