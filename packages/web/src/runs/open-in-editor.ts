/**
 * Opens the data of a run in the editor: pins its outputs, and proposes its input for the next run. Former
 * pins are replaced, which can be undone.
 */
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { Graph } from "../canvas/graph.ts";
import { type Pin, readPins, restorePins, savePins } from "../canvas/pins.ts";
import type { Step } from "../canvas/run-states.ts";
import type { EditorState } from "../canvas/use-run.ts";
import { plural } from "../ui/format.ts";
import { toasts } from "../ui/toast.tsx";
import { pinOutput } from "./pin-output.ts";
import { isPreview } from "./preview.ts";
import type { RunView } from "./run-data.ts";
import { isTooLarge, pinnableSteps } from "./run-pins.ts";

/** Returns the state with which the editor opens. */
export async function prepareEditor(
  run: RunView,
  graph: Pick<Graph, "nodes">,
  steps: readonly Step[],
): Promise<EditorState> {
  const pins: Record<string, Pin> = {};
  const pinnable = pinnableSteps(graph, steps);
  const kept = pinnable.filter((step) => !isTooLarge(step));
  for (const step of kept) pins[step.node_id] = await pinOutput(run.id, step);
  const former = readPins(run.flow_id);
  if (!savePins(run.flow_id, pins))
    throw new Error("The browser has no space left to keep the pinned outputs.");
  const left = pinnable.length - kept.length;
  toasts.add({
    title: `${plural(kept.length, "output")} of the run pinned`,
    detail: [
      kept.length > 0 && "In runs of the draft, these nodes return what they returned then.",
      left > 0 && `${plural(left, "output")} too large to be pinned.`,
    ]
      .filter(Boolean)
      .join(" "),
    ...(Object.keys(former).length > 0 && { undo: () => restorePins(run.flow_id, former) }),
  });
  const { event_id, trigger_node: trigger, input } = run;
  return {
    base: { id: run.id, trigger_node: trigger },
    request:
      event_id !== null
        ? { trigger, event: event_id }
        : { trigger, ...(!isPreview(input) && { input: input as JsonObject }) },
  };
}
