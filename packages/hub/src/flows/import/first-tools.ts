/**
 * In the legacy system, a call of a flow starts its first active tool. Finds this tool for each flow
 * with several, where the call does not name it. Pure.
 */
import { isObject, type JsonObject } from "@signalbox/rules/json.ts";
import { isActiveValue } from "./is-active.ts";

/** Returns the id of the first active tool of each flow with several active tools, by flow id. */
export function findFirstTools(flows: readonly JsonObject[]): Map<string, string> {
  const firstTools = new Map<string, string>();
  for (const { id, nodes } of flows) {
    const activeTools = (Array.isArray(nodes) ? nodes : []).filter(
      (node) =>
        isObject(node) &&
        node.type === "UserIntent" &&
        !(isObject(node.parameters) && !isActiveValue(node.parameters.isActive)),
    ) as JsonObject[];
    const [first] = activeTools;
    if (activeTools.length > 1 && typeof first?.id === "string")
      firstTools.set(String(id), first.id);
  }
  return firstTools;
}
