/** The form of an Event or Schedule trigger. */
import type { FlowNode } from "../canvas/graph.ts";
import { EventForm } from "./event-form.tsx";
import { ScheduleForm } from "./schedule-form.tsx";
import { triggerKindOf } from "./trigger-kind.ts";

export function TriggerForm({
  flow,
  node,
  onChange,
}: {
  flow: string;
  node: FlowNode;
  onChange: (parameters: FlowNode["parameters"]) => void;
}) {
  return triggerKindOf(node) === "schedule" ? (
    <ScheduleForm parameters={node.parameters} onChange={onChange} />
  ) : (
    <EventForm flow={flow} node={node.id} parameters={node.parameters} onChange={onChange} />
  );
}
