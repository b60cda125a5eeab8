/** What starts a trigger, and which of its parameters the form of this folder draws. */
import type { FlowNode } from "../canvas/graph.ts";
import { definitionOf } from "../canvas/node-kinds.ts";

type TriggerKind = "event" | "schedule";

/** By the sample, since the node's own parameters may not be valid yet. */
export function triggerKindOf(node: Pick<FlowNode, "type">): TriggerKind | undefined {
  const definition = definitionOf(node);
  if (definition?.listensTo(definition.sample.config)) return "event";
  return definition?.schedule(definition.sample.config) ? "schedule" : undefined;
}

const FIELDS: Readonly<Record<TriggerKind, readonly string[]>> = {
  event: ["source", "type", "params", "filter", "poll", "isActive"],
  schedule: ["cron", "timeZone", "isActive"],
};

/** The fields that the general form of the node leaves out. Polling has no form of its own. */
export function formFieldsOf({ type, parameters }: FlowNode): readonly string[] {
  const kind = triggerKindOf({ type });
  const fields = kind ? FIELDS[kind] : [];
  return parameters.poll === undefined ? fields : fields.filter((field) => field !== "poll");
}
