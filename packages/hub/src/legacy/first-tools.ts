/** A legacy call of a flow starts its first active tool. Pure. */
import { isObject, type JsonObject } from "@signalbox/rules/json.ts";
import { isActiveValue } from "./is-active.ts";

/** By the ids of flows with several active tools: the id of the first one. */
export function findFirstTools(flows: readonly JsonObject[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const { id, nodes } of flows) {
    const active = (Array.isArray(nodes) ? nodes : []).filter(
      (node) =>
        isObject(node) &&
        node.type === "UserIntent" &&
        !(isObject(node.parameters) && !isActiveValue(node.parameters.isActive)),
    ) as JsonObject[];
    const [first] = active;
    if (active.length > 1 && typeof first?.id === "string") found.set(String(id), first.id);
  }
  return found;
}
