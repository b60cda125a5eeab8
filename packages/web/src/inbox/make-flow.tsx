/** The dialog that creates a flow from an event. */
import { NewFlowDialog } from "../flows/new-flow-dialog.tsx";
import { type EventKind, toNewFlow } from "./flow-from-event.ts";

export function MakeFlowDialog({ event, onClose }: { event: EventKind; onClose: () => void }) {
  const newFlow = toNewFlow(event);
  return (
    <NewFlowDialog
      title="Make a flow from this event"
      description={`The flow starts on every event of this kind: ${newFlow.nodes[0]?.name}. You can add conditions on the canvas.`}
      start={newFlow}
      onClose={onClose}
    />
  );
}
