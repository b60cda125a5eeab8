/** The trigger that fires on events like a given one: same source, type and action. */
import type { EventItem } from "../api/types.ts";
import type { NewFlow } from "../flows/new-flow-dialog.tsx";

export type FlowSource = Pick<EventItem, "source" | "type" | "action">;

export function toNewFlow({ source, type, action }: FlowSource): Required<NewFlow> {
  const words = [type, action !== null && !type.endsWith(action) && action]
    .filter(Boolean)
    .join(" ");
  const name = words.replaceAll(/[._]+/g, " ");
  return {
    name: `On ${name}`,
    nodes: [
      {
        type: "Event",
        name: name.charAt(0).toUpperCase() + name.slice(1),
        parameters: {
          source,
          type,
          ...(action !== null && !type.endsWith(action) && { params: { action } }),
        },
      },
    ],
  };
}
