/** Loads the flows that other flows call, for validation. */
import {
  type CalledFlow,
  callsIn,
  triggerOf,
  triggersIn,
} from "@signalbox/rules/flows/check-calls.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import type { Store } from "../../store.ts";
import type { FlowGraph } from "../model.ts";
import { findRenamed } from "../runs/published-trigger.ts";

export async function loadCalledFlows(
  store: Pick<Store, "getFlow" | "getVersion" | "listVersions">,
  registry: NodeRegistry,
  tenant: string,
  callers: readonly { graph: FlowGraph }[],
): Promise<Map<string, CalledFlow>> {
  const calls = Map.groupBy(
    callers.flatMap(({ graph }) => callsIn(graph, registry)),
    (call) => call.flow,
  );
  const calledFlows = new Map<string, CalledFlow>();
  for (const [id, callsOfFlow] of calls) {
    const flow = await store.getFlow(tenant, id);
    if (!flow) continue;
    const { name, version } = flow;
    const draftTriggers = triggersIn(flow.graph, registry);
    const graph = version === null ? undefined : await store.getVersion(tenant, id, version);
    const triggers = graph && triggersIn(graph, registry);
    const renamed = new Map<string, FlowNode>();
    for (const slug of new Set(callsOfFlow.map(({ trigger }) => trigger))) {
      if (!triggers || slug === undefined || triggerOf(triggers, slug)) continue;
      const trigger = await findRenamed(store, tenant, id, triggers, slug);
      if (trigger) renamed.set(slug, trigger);
    }
    calledFlows.set(id, { name, triggers, draftTriggers, renamed });
  }
  return calledFlows;
}
