/** Finds the agent and the triggers of an automation. The errors name what a caller can choose. */
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { RequestError } from "../lib/request-error.ts";
import type { FlowGraph } from "../store/flow-store.ts";
import { type AutomationTrigger, agentOf, triggersTo } from "./automation-graph.ts";
import type { DescribedFlow } from "./flows.ts";

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
  trigger: string,
  registry: NodeRegistry,
): AutomationTrigger {
  const triggers = triggersIn(graph, registry);
  const found = triggers.find(({ id }) => id === trigger);
  if (found) return found;
  throw new RequestError(
    "not_found",
    "trigger_id",
    `The automation has no trigger ${trigger.slice(0, 100)}. ${choices(triggers)}`,
  );
}

/** The given trigger, or the only one. */
export function chooseTrigger(
  graph: FlowGraph,
  given: string | undefined,
  registry: NodeRegistry,
): AutomationTrigger {
  if (given !== undefined) return assertTrigger(graph, given, registry);
  const triggers = triggersIn(graph, registry);
  const [only, another] = triggers;
  if (only && !another) return only;
  throw new RequestError("invalid", "trigger_id", `is missing. ${choices(triggers)}`);
}

const choices = (triggers: readonly AutomationTrigger[]): string =>
  triggers.length === 0
    ? "Add one with AUTOMATION_TRIGGER_ADD."
    : `Choose one of ${triggers.map(({ id, name }) => `${id} (${name})`).join(", ")}.`;
