/** Creates a published version of a flow: its graph and its trigger rows. Pure. */
import type { CalledFlow } from "@signalbox/rules/flows/check-calls.ts";
import { nextTick } from "@signalbox/rules/flows/cron.ts";
import { graphOf, reachableFrom } from "@signalbox/rules/flows/graph.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import type { NodeRegistry, ToolOffer } from "@signalbox/rules/flows/node-type.ts";
import { outputSchemaOf } from "@signalbox/rules/flows/output-schema.ts";
import { inputSchema } from "@signalbox/rules/flows/parameters.ts";
import { isActive, type ResolveOptions } from "@signalbox/rules/flows/resolved-flow.ts";
import { splitParameters } from "@signalbox/rules/flows/split-parameters.ts";
import { toolNameOf } from "@signalbox/rules/flows/tool-fields.ts";
import {
  preventsPublishing,
  type Validation,
  validateFlow,
} from "@signalbox/rules/flows/validate.ts";
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { FlowGraph, NewTrigger, Publication, StoredFlow } from "../model.ts";
import type { RequireAnalysis } from "./flow-analysis.ts";

/** The default time for which the former name of a tool stays an alias. */
export const ALIAS_MS = 7 * 24 * 3_600_000;

/**
 * Throws if the flow has errors, uses a secret, a connection or a tool that does not exist, or calls one
 * of the `calledFlows` with a wrong input.
 */
export function publicationOf(
  { tenant, id, graph }: Pick<StoredFlow, "tenant" | "id" | "graph">,
  registry: NodeRegistry,
  version: Omit<Publication, "graph" | "triggers">,
  requireAnalysis: RequireAnalysis,
  calledFlows: ReadonlyMap<string, CalledFlow>,
): Publication {
  const analysis = requireAnalysis(tenant, graph);
  const calls = { id, flows: calledFlows };
  assertPublishable(validateFlow(graph, registry, { ...analysis, calls }));
  return { graph, triggers: triggersOf(graph, registry, version.at, analysis), ...version };
}

function assertPublishable(findings: Validation): void {
  const errors = [...findings.errors, ...findings.warnings.filter(preventsPublishing)];
  if (errors.length > 0)
    throw new RequestError(
      "invalid",
      "flow",
      `The flow cannot run yet: ${errors.map(({ message }) => message).join("; ")}`,
      errors.map(({ nodeId, edgeId, path, message }) => ({
        path: [nodeId ?? edgeId, path].filter(Boolean).join(".") || "flow",
        message,
      })),
    );
}

/**
 * Creates the trigger rows of a published flow: its tools, event triggers and schedules. `at` is the time of
 * the publication, after which schedules fire. `analysis` describes the called tools.
 */
export function triggersOf(
  graph: FlowGraph,
  registry: NodeRegistry,
  at: number,
  analysis: ResolveOptions = {},
): NewTrigger[] {
  return graph.nodes.flatMap((node): NewTrigger[] => {
    const definition = registry.get(node.type);
    if (definition?.kind !== "trigger") return [];
    const { config } = splitParameters(node);
    const tool = definition.tool(config);
    const selection = definition.listensTo(config);
    const times = definition.schedule(config);
    const base = {
      node_id: node.id,
      tool_name: tool ? (toolNameOf(node) ?? null) : null,
      source: selection?.source ?? null,
      type: selection?.type ?? null,
      active: isActive(node),
    };
    if (tool)
      return [
        { ...base, kind: "intent", config: toolConfig(graph, node, tool, registry, analysis) },
      ];
    if (selection) return [{ ...base, kind: "event", config: { ...selection } as JsonObject }];
    if (times) {
      const { cron, timeZone: time_zone } = times;
      const schedule = { cron, time_zone, next_at: nextTick(times, at) };
      return [{ ...base, kind: "schedule", config: { ...times } as JsonObject, schedule }];
    }
    return [{ ...base, kind: "other", config }];
  });
}

/** Everything that `tools/list` returns for a tool, computed once when the flow is published. */
function toolConfig(
  graph: FlowGraph,
  node: FlowNode,
  { description, parameters, concurrency }: ToolOffer,
  registry: NodeRegistry,
  analysis: ResolveOptions,
): JsonObject {
  const outputSchema = outputSchemaOf(graph, node, registry, analysis);
  return {
    title: node.name,
    description,
    parameters: parameters as Json,
    inputSchema: inputSchema(parameters),
    ...(outputSchema && { outputSchema }),
    ...(concurrency && { concurrency: concurrency as JsonObject }),
    annotations: annotationsOf(graph, node, registry),
  };
}

/** The MCP annotations of a tool. Only actions have effects outside of the run. */
function annotationsOf(graph: FlowGraph, trigger: FlowNode, registry: NodeRegistry): JsonObject {
  const reached = reachableFrom(graphOf(graph), trigger.id);
  const hasAction = graph.nodes.some(
    ({ id, type }) => reached.has(id) && registry.get(type)?.kind === "action",
  );
  return hasAction
    ? { readOnlyHint: false, openWorldHint: true }
    : { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
}
