/** Which trigger of a published flow somebody means, and what they want to start it with. */
import type { FlowNode } from "../flows/model.ts";
import { type CheckedArguments, checkArguments, parametersSchema } from "../flows/parameters.ts";
import { isObject } from "../lib/json.ts";
import type { StoredTrigger } from "../store/flow-store.ts";
import type { Store } from "../store/store.ts";

export type FoundTrigger =
  | { outcome: "found"; trigger: StoredTrigger; node: FlowNode }
  | { outcome: "no_flow" }
  | { outcome: "not_published"; flow: string }
  | { outcome: "no_trigger"; flow: string };

/** By the node's id, or else its slug. */
export async function findTrigger(
  store: Pick<Store, "getFlow" | "getVersion" | "getTrigger">,
  tenant: string,
  id: string,
  wanted: string,
): Promise<FoundTrigger> {
  const flow = await store.getFlow(tenant, id);
  if (!flow) return { outcome: "no_flow" };
  if (flow.version === null) return { outcome: "not_published", flow: flow.name };
  // As it was published: the draft may call its nodes something else by now.
  const nodes = (await store.getVersion(tenant, id, flow.version))?.nodes ?? [];
  const node = nodes.find((one) => one.id === wanted) ?? nodes.find((one) => one.slug === wanted);
  const trigger = node && (await store.getTrigger(tenant, id, node.id));
  return trigger ? { outcome: "found", trigger, node } : { outcome: "no_trigger", flow: flow.name };
}

/** Against the trigger's own parameters, with the defaults of those left out. */
export function checkInput({ kind, config }: StoredTrigger, given: unknown): CheckedArguments {
  if (kind === "intent")
    return checkArguments(parametersSchema.parse(config.parameters ?? []), given);
  return isObject(given)
    ? { ok: true, input: given }
    : { ok: false, errors: [{ path: "input", message: "must be an object" }] };
}
