/** The section of the node panel for Event and Schedule triggers: the card of the trigger, and its form. */
import type { Flow } from "@signalbox/contract";
import type { FlowNode } from "../canvas/graph.ts";
import { ErrorState } from "../ui/error-state.tsx";
import { TriggerCard } from "./trigger-card.tsx";
import { TriggerForm } from "./trigger-form.tsx";
import { useSenders } from "./use-senders.ts";
import { useTriggerStates } from "./use-trigger-states.ts";

export function TriggerSection({
  flow,
  node,
  onChange,
}: {
  flow: Pick<Flow, "id" | "version">;
  node: FlowNode;
  onChange: (parameters: FlowNode["parameters"]) => void;
}) {
  const { senders } = useSenders();
  const { published, error } = useTriggerStates(flow);
  return (
    <>
      {error && <ErrorState error={error} compact />}
      <TriggerCard
        node={node}
        published={published.get(node.id)}
        senders={senders}
        onChange={onChange}
      />
      <TriggerForm flow={flow.id} node={node} onChange={onChange} />
    </>
  );
}
