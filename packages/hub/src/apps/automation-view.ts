/** Describes an automation for agents: the agent and the triggers of a flow, with their states. */
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
  /** The state of the trigger subscription, if the source is a connection. */
  subscription?: { state: string; error: string | null };
}

export interface AutomationViewOptions {
  store: Pick<Store, "getVersion" | "listSubscriptionStates">;
  registry: NodeRegistry;
}

type ReadSubscriptions = (connection: string) => ReturnType<Store["listSubscriptionStates"]>;

export function createAutomationView({ store, registry }: AutomationViewOptions) {
  /** The reader caches the subscriptions of each connection. */
  const createSubscriptionReader = (tenant: string): ReadSubscriptions => {
    const cache = new Map<string, ReturnType<ReadSubscriptions>>();
    return (connection) => {
      const states = cache.get(connection) ?? store.listSubscriptionStates(tenant, connection);
      cache.set(connection, states);
      return states;
    };
  };

  const describe = async (
    flow: DescribedFlow,
    readSubscriptions: ReadSubscriptions = createSubscriptionReader(flow.tenant),
  ): Promise<Automation> => {
    const agent = assertAgent(flow);
    const published =
      flow.version === null
        ? undefined
        : await store.getVersion(flow.tenant, flow.id, flow.version);
    const triggers: Automation["triggers"] = [];
    for (const trigger of triggersTo(flow.graph, agent, registry))
      triggers.push({ ...trigger, ...(await stateOf(flow, trigger, readSubscriptions)) });
    return {
      flow,
      agent: agent.parameters,
      triggers,
      isPublished: JSON.stringify(published) === JSON.stringify(flow.graph),
    };
  };

  return { describe, createSubscriptionReader };
}

async function stateOf(
  { id, schedules }: DescribedFlow,
  trigger: AutomationTrigger,
  readSubscriptions: ReadSubscriptions,
): Promise<TriggerState> {
  if (trigger.kind === "schedule")
    return {
      nextFireAt: schedules.find(({ node_id }) => node_id === trigger.id)?.next_at ?? null,
    };
  if (trigger.kind !== "event") return {};
  const subscription = (await readSubscriptions(String(trigger.config.source))).find(
    ({ flow_id, node_id }) => flow_id === id && node_id === trigger.id,
  );
  return subscription
    ? { subscription: { state: subscription.state, error: subscription.error } }
    : {};
}
