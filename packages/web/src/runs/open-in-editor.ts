/**
 * Prepares the editor with the data of a run: pins the outputs of the run, and proposes its input for the
 * next run. Existing pins are replaced; the user can undo this.
 */
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { Graph } from "../canvas/graph.ts";
import { type Pin, readPins, restorePins, savePins } from "../canvas/pins.ts";
import type { Step } from "../canvas/run-states.ts";
import type { EditorState } from "../canvas/use-run.ts";
import { plural } from "../ui/format.ts";
import { toasts } from "../ui/toast.tsx";
import { loadPin } from "./load-pin.ts";
import { isPreview } from "./preview.ts";
import type { RunFields } from "./run-data.ts";
import { isTooLarge, pinnableSteps } from "./run-pins.ts";

/** Returns the state with which the editor opens. */
export async function prepareEditor(
  run: RunFields,
  graph: Pick<Graph, "nodes">,
  steps: readonly Step[],
): Promise<EditorState> {
  const pins: Record<string, Pin> = {};
  const pinnable = pinnableSteps(graph, steps);
  for (const step of pinnable.filter((each) => !isTooLarge(each)))
    pins[step.node_id] = await loadPin(run.id, step);
  const pinned = Object.keys(pins).length;
  const previousPins = readPins(run.flow_id);
  if (!savePins(run.flow_id, pins))
    throw new Error("The browser has no space left to keep the pinned outputs.");
  const tooLarge = pinnable.length - pinned;
  toasts.add({
    title: `${plural(pinned, "output")} of the run pinned`,
    detail: [
      pinned > 0 && "Runs of the draft use these outputs instead of executing the nodes.",
      tooLarge > 0 && `${plural(tooLarge, "output")} not pinned: too large.`,
    ]
      .filter(Boolean)
      .join(" "),
    ...(Object.keys(previousPins).length > 0 && {
      undo: () => restorePins(run.flow_id, previousPins),
    }),
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
