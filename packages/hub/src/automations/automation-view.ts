/** Describes an automation for agents: the agent and the triggers of a flow, with their states. */
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { DescribedFlow } from "../flows/editing/flows.ts";
import type { Store } from "../store.ts";
import { assertAgent } from "./automation-checks.ts";
import { type AutomationTrigger, triggersTo } from "./automation-graph.ts";

export interface Automation {
  flow: DescribedFlow;
  agent: JsonObject;
  triggers: (AutomationTrigger & TriggerState)[];
  /** Whether the published version is the current draft. */
  isPublished: boolean;
}

interface TriggerState {
  /** When a schedule fires next. */
  nextFireAt?: number | null;
  /** The state of the trigger subscription, if the source is a connection. */
  subscription?: { state: string; error: string | null };
}

export interface AutomationViewOptions {
  store: Pick<Store, "getVersion">;
  registry: NodeRegistry;
}

export function createAutomationView({ store, registry }: AutomationViewOptions) {
  return async (flow: DescribedFlow): Promise<Automation> => {
    const agent = assertAgent(flow);
    const published =
      flow.version === null
        ? undefined
        : await store.getVersion(flow.tenant, flow.id, flow.version);
    return {
      flow,
      agent: agent.parameters,
      triggers: triggersTo(flow.graph, agent, registry).map((trigger) => ({
        ...trigger,
        ...stateOf(flow, trigger),
      })),
      isPublished: JSON.stringify(published) === JSON.stringify(flow.graph),
    };
  };
}

function stateOf(
  { schedules, subscriptions }: DescribedFlow,
  { id, kind, config }: AutomationTrigger,
): TriggerState {
  if (kind === "schedule")
    return { nextFireAt: schedules.find(({ node_id }) => node_id === id)?.next_at ?? null };
  const subscription = subscriptions.find(
    ({ node_id, connection }) => node_id === id && connection === config.source,
  );
  return subscription
    ? { subscription: { state: subscription.state, error: subscription.error } }
    : {};
}
