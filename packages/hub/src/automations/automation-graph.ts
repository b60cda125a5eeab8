/**
 * An automation is a flow whose triggers lead to one Agent node. Finds these nodes in a graph, and
 * creates them. Pure.
 */
import { graphOf, reachableFrom } from "@signalbox/rules/flows/graph.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import type { NodeDefinition, NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { agent } from "@signalbox/rules/flows/nodes/agent.ts";
import { event } from "@signalbox/rules/flows/nodes/event.ts";
import { schedule } from "@signalbox/rules/flows/nodes/schedule.ts";
import { userIntent } from "@signalbox/rules/flows/nodes/user-intent.ts";
import { isActive } from "@signalbox/rules/flows/resolved-flow.ts";
import { splitParameters } from "@signalbox/rules/flows/split-parameters.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { NewEdge, NewNode } from "../flows/editing/flows.ts";
import type { FlowGraph } from "../flows/model.ts";

export const TRIGGER_KINDS = ["event", "schedule", "tool"] as const;
export type TriggerKind = (typeof TRIGGER_KINDS)[number];

/** The node types of an automation. */
export const AGENT: NodeDefinition = agent;
export const TRIGGERS: Record<TriggerKind, NodeDefinition> = { event, schedule, tool: userIntent };

/** A trigger as a caller describes it, before it has a node. */
export interface TriggerInput {
  kind: TriggerKind;
  name?: string | undefined;
  config: JsonObject;
}

export interface AutomationTrigger {
  id: string;
  name: string;
  /** `other`: a type of trigger that the tools for agents do not create. */
  kind: TriggerKind | "other";
  isActive: boolean;
  config: JsonObject;
}

/** The Agent node; undefined if the flow does not have exactly one. */
export function agentOf({ nodes }: FlowGraph): FlowNode | undefined {
  const [first, second] = nodes.filter(({ type }) => type === AGENT.type);
  return second ? undefined : first;
}

/** The triggers that lead to the agent. */
export function triggersTo(
  graph: FlowGraph,
  target: FlowNode,
  registry: NodeRegistry,
): AutomationTrigger[] {
  const resolved = graphOf(graph);
  return graph.nodes
    .filter(({ type }) => registry.get(type)?.kind === "trigger")
    .filter(({ id }) => reachableFrom(resolved, id).has(target.id))
    .map((node) => ({
      id: node.id,
      name: node.name,
      kind: TRIGGER_KINDS.find((kind) => TRIGGERS[kind].type === node.type) ?? "other",
      isActive: isActive(node),
      config: splitParameters(node).config,
    }));
}

const ROW_HEIGHT = 160;

/** Creates the node of a trigger, and the edge to the agent. `row` is its position on the canvas. */
export function triggerNode(
  { kind, name, config }: TriggerInput,
  { id, row, agentId }: { id: string; row: number; agentId: string },
): { node: NewNode; edge: NewEdge } {
  return {
    node: {
      id,
      type: TRIGGERS[kind].type,
      name: name ?? nameOf(kind, config),
      position: { x: 0, y: row * ROW_HEIGHT },
      parameters: config,
    },
    edge: { source: id, sourceHandle: "out", target: agentId, targetHandle: "in" },
  };
}

export const agentNode = (id: string, parameters: JsonObject): NewNode => ({
  id,
  type: AGENT.type,
  name: "Agent",
  position: { x: 400, y: 0 },
  parameters,
});

function nameOf(kind: TriggerKind, config: JsonObject): string {
  const text = (field: string) => (typeof config[field] === "string" ? config[field] : "");
  const name = {
    event: `${text("type") || "Any event"} from ${text("source")}`,
    schedule: `At ${text("cron")}`,
    tool: text("toolName") || "Run",
  }[kind];
  return name.slice(0, 100);
}
