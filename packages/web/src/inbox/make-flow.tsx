/** A flow that starts on events like this one. */
import { NewFlowDialog } from "../flows/new-flow-dialog.tsx";
import { type FlowSource, toNewFlow } from "./flow-from-event.ts";

export function MakeFlowDialog({ event, onClose }: { event: FlowSource; onClose: () => void }) {
  const start = toNewFlow(event);
  return (
    <NewFlowDialog
      title="Make a flow from this event"
      description={`The flow starts whenever such an event arrives: ${start.nodes[0]?.name}. You can narrow it down in the canvas.`}
      start={start}
      onClose={onClose}
    />
  );
}
