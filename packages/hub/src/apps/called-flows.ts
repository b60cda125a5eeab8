/** The flows that others call, as far as the checks of the callers ask. */
import { calledBy, type KnownFlow, triggersIn } from "../flows/check-calls.ts";
import type { NodeRegistry } from "../flows/node-type.ts";
import type { FlowGraph } from "../store/flow-store.ts";
import type { Store } from "../store/store.ts";

export async function calledFlows(
  store: Pick<Store, "getFlow" | "getVersion">,
  registry: NodeRegistry,
  tenant: string,
  callers: readonly { graph: FlowGraph }[],
): Promise<Map<string, KnownFlow>> {
  const called = new Set(callers.flatMap(({ graph }) => calledBy(graph)));
  const known = new Map<string, KnownFlow>();
  for (const id of called) {
    const flow = await store.getFlow(tenant, id);
    if (!flow) continue;
    const { name, version } = flow;
    const graph = version === null ? undefined : await store.getVersion(tenant, id, version);
    known.set(id, { name, triggers: graph && triggersIn(graph, registry) });
  }
  return known;
}
