/** What the store keeps of a published flow's triggers, so that tools and events find them. */

import { graphOf, reachableFrom } from "@signalbox/rules/flows/graph.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { outputSchemaOf } from "@signalbox/rules/flows/output-schema.ts";
import { inputSchema, readParameters } from "@signalbox/rules/flows/parameters.ts";
import { isActive, partsOf } from "@signalbox/rules/flows/subject.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { FlowGraph, NewTrigger } from "../store/flow-store.ts";

export function triggersOf(graph: FlowGraph, registry: NodeRegistry): NewTrigger[] {
  return graph.nodes.flatMap((node): NewTrigger[] => {
    if (registry.get(node.type)?.kind !== "trigger") return [];
    const { config } = partsOf(node);
    const base = {
      node_id: node.id,
      tool_name: null,
      source: null,
      type: null,
      active: isActive(node),
    };
    if (node.type === "UserIntent")
      return [
        {
          ...base,
          kind: "intent",
          tool_name: String(config.toolName),
          config: toolConfig(graph, node, registry),
        },
      ];
    if (node.type === "Event")
      return [
        {
          ...base,
          kind: "event",
          source: String(config.source),
          type: typeof config.type === "string" && config.type.trim() ? config.type : null,
          config,
        },
      ];
    return [{ ...base, kind: "other", config }];
  });
}

/** All that `tools/list` says of a tool, made once when it is published. */
function toolConfig(graph: FlowGraph, node: FlowNode, registry: NodeRegistry): JsonObject {
  const { config } = partsOf(node);
  const parameters = readParameters(config.parameters ?? []);
  const description = [
    config.toolDescription,
    config.whenToUse && `When to use: ${config.whenToUse}`,
    config.whenNotToUse && `When not to use: ${config.whenNotToUse}`,
  ];
  const outputSchema = outputSchemaOf(graph, node, registry);
  return {
    title: node.name,
    description: description.filter(Boolean).join("\n\n"),
    parameters: config.parameters ?? [],
    inputSchema: inputSchema(parameters),
    ...(outputSchema && { outputSchema }),
    ...(config.concurrency !== undefined && { concurrency: config.concurrency }),
    annotations: annotationsOf(graph, node, registry),
  };
}

/** Only actions reach anything outside of the run. */
function annotationsOf(graph: FlowGraph, trigger: FlowNode, registry: NodeRegistry): JsonObject {
  const reached = reachableFrom(graphOf(graph), trigger.id);
  const acts = graph.nodes.some(
    ({ id, type }) => reached.has(id) && registry.get(type)?.kind === "action",
  );
  return acts
    ? { readOnlyHint: false, openWorldHint: true }
    : { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
}
