/** The state of each node in a run. The iterations of a node in a loop have one state together. */
import { type NodeState, type Step, statesOf } from "../canvas/run-states.ts";
import { count, plural } from "../ui/format.ts";
import { isPart, iterationText } from "./step-names.ts";
import { retryAt } from "./waterfall.ts";

/** While the run is active, a failed step that will be retried counts as running. */
export function nodeStatesOf(steps: readonly Step[], isActive = false): Map<string, NodeState> {
  const states = statesOf(steps);
  const willRetry = (step: Step) =>
    isActive && (step.status === "retried" || retryAt(step) !== undefined);
  for (const [node, iterations] of newestStepsOf(steps)) {
    const newest = [...iterations.values()];
    const [only] = newest;
    const pin = iterations.get("");
    if (newest.length > 1 && pin) states.set(node, pinnedState(pin));
    else if (newest.length > 1) states.set(node, summarize(newest, willRetry));
    else if (only?.status === "failed" && willRetry(only)) states.set(node, retriedState(only));
  }
  return states;
}

/** A pinned node in a loop has one step without an iteration, and a skipped one for each iteration that does not reach it. */
const pinnedState = (pin: Step): NodeState => statesOf([pin]).get(pin.node_id) as NodeState;

const retriedState = ({ attempt }: Step): NodeState => ({
  aspect: "lunar",
  label: "under way, retrying",
  note: `attempt ${attempt + 1}`,
  port: null,
  status: "running",
});

/** Returns the newest step of each iteration, by node. Outside of loops, there is one iteration. */
function newestStepsOf(steps: readonly Step[]): Map<string, Map<string, Step>> {
  const nodes = new Map<string, Map<string, Step>>();
  for (const step of steps) {
    if (isPart(step)) continue;
    const iterations = nodes.get(step.node_id) ?? new Map<string, Step>();
    nodes.set(step.node_id, iterations.set(step.item, step));
  }
  return nodes;
}

/** Returns one state for all iterations of a node in a loop. */
function summarize(steps: readonly Step[], willRetry: (step: Step) => boolean): NodeState {
  const isOpen = (step: Step) =>
    step.status === "running" || step.status === "waiting" || willRetry(step);
  const isFailed = (step: Step) =>
    (step.status === "failed" || step.status === "retried") && !willRetry(step);
  const total = count(steps.length);
  const failed = steps.filter(isFailed).length;
  const done = steps.filter(({ status }) => status === "done").length;
  const open = steps.findLast(isOpen);
  const ports = new Set(steps.map(({ port }) => port));
  const port = ports.size === 1 ? (steps[0]?.port ?? null) : null;
  if (failed > 0)
    return {
      aspect: "red",
      label: `failed for ${count(failed)} of ${total} items`,
      note: `${count(failed)} of ${total} failed`,
      port,
      status: "failed",
    };
  if (open) {
    const attempt = willRetry(open) ? open.attempt + 1 : open.attempt;
    return {
      aspect: "lunar",
      label: `under way, ${plural(done, "item")} done`,
      note: [iterationText(open), attempt > 1 && `attempt ${attempt}`].filter(Boolean).join(" · "),
      port,
      status: "running",
    };
  }
  if (done === 0)
    return { aspect: "none", label: "skipped", note: "skipped", port, status: "skipped" };
  const isForAll = done === steps.length;
  return {
    aspect: "green",
    label: isForAll ? `done for ${total} items` : `done for ${count(done)} of ${total} items`,
    note: isForAll ? `${total} ×` : `${count(done)} of ${total}`,
    port,
    status: "done",
  };
}
