/** Converts an event to a new flow. Its trigger fires on events with the same source, type and action. */
import type { EventItem } from "@signalbox/contract";
import type { NewFlow } from "../flows/new-flow-dialog.tsx";

export type EventKind = Pick<EventItem, "source" | "type" | "action">;

export function toNewFlow({ source, type, action }: EventKind): Required<NewFlow> {
  // A type such as `invoice.paid` contains the action.
  const separateAction = action !== null && !type.endsWith(action) ? action : undefined;
  const name = [type, separateAction].filter(Boolean).join(" ").replaceAll(/[._]+/g, " ");
  return {
    name: `On ${name}`,
    nodes: [
      {
        type: "Event",
        name: name.charAt(0).toUpperCase() + name.slice(1),
        parameters: {
          source,
          type,
          ...(separateAction !== undefined && { params: { action: separateAction } }),
        },
      },
    ],
  };
}
