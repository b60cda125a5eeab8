/** Finds the agent and the triggers of an automation. The errors list the valid choices. */
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import type { DescribedFlow } from "../flows/editing/flows.ts";
import type { FlowGraph } from "../flows/model.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import { type AutomationTrigger, agentOf, triggersTo } from "./automation-graph.ts";

export function assertAgent({ id, graph }: Pick<DescribedFlow, "id" | "graph">) {
  const agent = agentOf(graph);
  if (agent) return agent;
  throw new RequestError(
    "invalid",
    "id",
    `The flow ${id} is not an automation, because it does not have exactly one Agent node. Choose an id that AUTOMATION_LIST returns.`,
  );
}

export function triggersIn(graph: FlowGraph, registry: NodeRegistry): AutomationTrigger[] {
  const agent = agentOf(graph);
  return agent ? triggersTo(graph, agent, registry) : [];
}

export function assertTrigger(
  graph: FlowGraph,
  triggerId: string,
  registry: NodeRegistry,
): AutomationTrigger {
  const triggers = triggersIn(graph, registry);
  const trigger = triggers.find(({ id }) => id === triggerId);
  if (trigger) return trigger;
  throw new RequestError(
    "not_found",
    "trigger_id",
    `The automation has no trigger ${triggerId.slice(0, 100)}. ${choices(triggers)}`,
  );
}

/** Returns the trigger with this id, or the only trigger if `triggerId` is undefined. */
export function chooseTrigger(
  graph: FlowGraph,
  triggerId: string | undefined,
  registry: NodeRegistry,
): AutomationTrigger {
  if (triggerId !== undefined) return assertTrigger(graph, triggerId, registry);
  const triggers = triggersIn(graph, registry);
  const [only, another] = triggers;
  if (only && !another) return only;
  throw new RequestError("invalid", "trigger_id", `is missing. ${choices(triggers)}`);
}

const choices = (triggers: readonly AutomationTrigger[]): string =>
  triggers.length === 0
    ? "Add one with AUTOMATION_TRIGGER_ADD."
    : `Choose one of ${triggers.map(({ id, name }) => `${id} (${name})`).join(", ")}.`;
