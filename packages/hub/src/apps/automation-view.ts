/** An automation as agents see it: the agent and the triggers of a flow, with their states. */
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { Store } from "../store/store.ts";
import { assertAgent } from "./automation-checks.ts";
import { type AutomationTrigger, triggersTo } from "./automation-graph.ts";
import type { DescribedFlow } from "./flows.ts";

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
  /** What the server of a connection has confirmed, and its error. */
  subscription?: { state: string; error: string | null };
}

export interface AutomationViewOptions {
  store: Pick<Store, "getVersion" | "listSubscriptionStates">;
  registry: NodeRegistry;
}

type ReadSubscriptions = (connection: string) => ReturnType<Store["listSubscriptionStates"]>;

export function createAutomationView({ store, registry }: AutomationViewOptions) {
  /** Reads the subscriptions of each connection at most once. */
  const subscriptionReader = (tenant: string): ReadSubscriptions => {
    const found = new Map<string, ReturnType<ReadSubscriptions>>();
    return (source) => {
      const states = found.get(source) ?? store.listSubscriptionStates(tenant, source);
      found.set(source, states);
      return states;
    };
  };

  const view = async (
    flow: DescribedFlow,
    read: ReadSubscriptions = subscriptionReader(flow.tenant),
  ): Promise<Automation> => {
    const agent = assertAgent(flow);
    const published =
      flow.version === null
        ? undefined
        : await store.getVersion(flow.tenant, flow.id, flow.version);
    const triggers: Automation["triggers"] = [];
    for (const trigger of triggersTo(flow.graph, agent, registry))
      triggers.push({ ...trigger, ...(await stateOf(flow, trigger, read)) });
    return {
      flow,
      agent: agent.parameters,
      triggers,
      isPublished: JSON.stringify(published) === JSON.stringify(flow.graph),
    };
  };

  return { view, subscriptionReader };
}

async function stateOf(
  { id, schedules }: DescribedFlow,
  trigger: AutomationTrigger,
  read: ReadSubscriptions,
): Promise<TriggerState> {
  if (trigger.kind === "schedule")
    return {
      nextFireAt: schedules.find(({ node_id }) => node_id === trigger.id)?.next_at ?? null,
    };
  if (trigger.kind !== "event") return {};
  const subscription = (await read(String(trigger.config.source))).find(
    ({ flow_id, node_id }) => flow_id === id && node_id === trigger.id,
  );
  return subscription
    ? { subscription: { state: subscription.state, error: subscription.error } }
    : {};
}
