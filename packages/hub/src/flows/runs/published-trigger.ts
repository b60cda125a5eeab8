/** Finds a trigger of a published flow, and validates the input for it. */
import { triggerOf } from "@signalbox/rules/flows/check-calls.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import {
  type CheckedArguments,
  checkArguments,
  readParameters,
} from "@signalbox/rules/flows/parameters.ts";
import { scheduleInput } from "@signalbox/rules/flows/schedule.ts";
import type { ValidateSchemas } from "@signalbox/rules/flows/validate-schema.ts";
import { isObject } from "@signalbox/rules/json.ts";
import type { Store } from "../../store.ts";
import type { FlowGraph, StoredTrigger } from "../model.ts";

export type FoundTrigger =
  | { outcome: "found"; trigger: StoredTrigger; node: FlowNode }
  | { outcome: "no_flow" }
  | { outcome: "not_published"; flow: string }
  | { outcome: "no_trigger"; flow: string };

/** Finds the only active tool of a flow. */
export async function findOnlyTool(
  store: Pick<Store, "getFlow" | "getVersion" | "getTrigger">,
  tenant: string,
  id: string,
): Promise<FoundTrigger | { outcome: "several_tools"; flow: string; tools: string[] }> {
  const published = await findPublished(store, tenant, id);
  if ("outcome" in published) return published;
  const { flow, nodes, edges } = published;
  const targets = new Set(edges.map(({ target }) => target));
  const tools: { trigger: StoredTrigger; node: FlowNode }[] = [];
  // A node with an incoming edge is not a trigger, so it is not looked up.
  for (const node of nodes.filter(({ id }) => !targets.has(id))) {
    const trigger = await store.getTrigger(tenant, id, node.id);
    if (trigger?.kind === "intent" && trigger.active) tools.push({ trigger, node });
  }
  const [tool] = tools;
  if (!tool) return { outcome: "no_trigger", flow };
  return tools.length === 1
    ? { outcome: "found", ...tool }
    : { outcome: "several_tools", flow, tools: tools.map(({ node }) => node.slug) };
}

/** Finds a trigger by the id, the slug or a former slug of its node. */
export async function findTrigger(
  store: Pick<Store, "getFlow" | "getVersion" | "listVersions" | "getTrigger">,
  tenant: string,
  id: string,
  idOrSlug: string,
): Promise<FoundTrigger> {
  const published = await findPublished(store, tenant, id);
  if ("outcome" in published) return published;
  const { flow, nodes } = published;
  const node =
    triggerOf(nodes, idOrSlug) ?? (await findRenamed(store, tenant, id, nodes, idOrSlug));
  const trigger = node && (await store.getTrigger(tenant, id, node.id));
  return trigger ? { outcome: "found", trigger, node } : { outcome: "no_trigger", flow };
}

/** Finds the published version of a flow. In the draft, a node may have another slug. */
async function findPublished(
  store: Pick<Store, "getFlow" | "getVersion">,
  tenant: string,
  id: string,
): Promise<
  | ({ flow: string } & FlowGraph)
  | { outcome: "no_flow" }
  | { outcome: "not_published"; flow: string }
> {
  const flow = await store.getFlow(tenant, id);
  if (!flow) return { outcome: "no_flow" };
  if (flow.version === null) return { outcome: "not_published", flow: flow.name };
  const graph = await store.getVersion(tenant, id, flow.version);
  return { flow: flow.name, ...(graph ?? { nodes: [], edges: [] }) };
}

/** Older versions are not searched. */
const MAX_VERSIONS = 50;

/** Finds the node that most recently had this slug, in an earlier version of the flow. */
export async function findRenamed(
  store: Pick<Store, "getVersion" | "listVersions">,
  tenant: string,
  flow: string,
  nodes: readonly FlowNode[],
  slug: string,
): Promise<FlowNode | undefined> {
  const versions = await store.listVersions(tenant, flow);
  for (const { version } of versions.slice(0, MAX_VERSIONS)) {
    const graph = await store.getVersion(tenant, flow, version);
    const former = graph?.nodes.find((node) => node.slug === slug);
    if (former) return nodes.find(({ id }) => id === former.id);
  }
  return undefined;
}

/**
 * Validates the input against the trigger's parameters, and adds default values. A schedule that is
 * started by hand gets the input of a tick at `now`.
 */
export async function checkInput(
  { kind, config }: StoredTrigger,
  input: unknown,
  validate: ValidateSchemas,
  now: number,
): Promise<CheckedArguments> {
  if (kind === "intent")
    return checkArguments(readParameters(config.parameters ?? []), input, validate);
  if (!isObject(input))
    return { ok: false, errors: [{ path: "input", message: "must be an object" }] };
  if (kind !== "schedule") return { ok: true, input };
  const tick = scheduleInput(String(config.timeZone), { tick: now, missed: 0 }, now);
  return { ok: true, input: { ...tick, ...input } };
}
