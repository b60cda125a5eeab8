/** Whether events or a schedule start a trigger, and which parameters `TriggerForm` edits. */
import type { FlowNode } from "../canvas/graph.ts";
import { definitionOf } from "../canvas/node-kinds.ts";

type TriggerKind = "event" | "schedule";

/** Uses the sample of the node type, because the parameters of the node may be invalid. */
export function triggerKindOf(node: Pick<FlowNode, "type">): TriggerKind | undefined {
  const definition = definitionOf(node);
  if (definition?.listensTo(definition.sample.config)) return "event";
  return definition?.schedule(definition.sample.config) ? "schedule" : undefined;
}

const FIELDS: Readonly<Record<TriggerKind, readonly string[]>> = {
  event: ["source", "type", "params", "filter", "poll", "isActive"],
  schedule: ["cron", "timeZone", "isActive"],
};

/** The fields that the generated form skips. It shows `poll` if it is set, because `TriggerForm` does not. */
export function formFieldsOf({ type, parameters }: FlowNode): readonly string[] {
  const kind = triggerKindOf({ type });
  const fields = kind ? FIELDS[kind] : [];
  return parameters.poll === undefined ? fields : fields.filter((field) => field !== "poll");
}
