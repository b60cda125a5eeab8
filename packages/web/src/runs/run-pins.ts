/** Selects the outputs of a past run to pin in the editor: those of nodes that would repeat a side effect. */
import type { Graph } from "../canvas/graph.ts";
import { definitionOf } from "../canvas/node-kinds.ts";
import type { Step } from "../canvas/run-states.ts";
import { isPreview } from "./preview.ts";
import { isPart } from "./step-names.ts";

/** Pins are stored in `localStorage`, which has little space. */
export const MAX_PIN_BYTES = 256 * 1024;

/** A pin replaces all executions of a node, so outputs of loop iterations, which differ, are not pinned. */
export function pinnableSteps(graph: Pick<Graph, "nodes">, steps: readonly Step[]): Step[] {
  const newest = new Map<string, Step>();
  for (const step of steps)
    if (step.item === "" && step.status === "done") newest.set(step.node_id, step);
  return graph.nodes.flatMap((node) => {
    const definition = definitionOf(node);
    const step = newest.get(node.id);
    const isUseful = definition && definition.kind !== "trigger" && !definition.isPure;
    return step && isUseful ? [step] : [];
  });
}

/** The newest completed step of the node. Its output is the initial value of a new pin. */
export const newestDoneStep = (steps: readonly Step[], node: string): Step | undefined =>
  steps.findLast((step) => step.node_id === node && step.status === "done" && !isPart(step));

export const isTooLarge = ({ output }: Pick<Step, "output">): boolean =>
  isPreview(output) && output.bytes > MAX_PIN_BYTES;
