/** How a run went on each node, those inside of loops as a whole. */
import { type NodeState, type Step, statesOf } from "../canvas/run-states.ts";
import { count } from "../ui/format.ts";
import { newestOf, retryAt } from "./waterfall.ts";

/** `isActive`: the run goes on, so a failed step with another attempt to come has not failed yet. */
export function nodeStatesOf(steps: readonly Step[], isActive = false): Map<string, NodeState> {
  const states = statesOf(steps);
  if (isActive)
    for (const [node, { status }] of states) {
      const newest = status === "failed" ? newestOf(steps, node) : undefined;
      if (newest && retryAt(newest) !== undefined) states.set(node, retriedState(newest));
    }
  for (const [node, items] of iterationsOf(steps))
    if (items.size > 1) states.set(node, summarize([...items.values()]));
  return states;
}

const retriedState = ({ attempt }: Step): NodeState => ({
  aspect: "lunar",
  label: "under way, tried again",
  note: `try ${attempt + 1}`,
  port: null,
  status: "running",
});

/** The newest step of each iteration, by node. */
function iterationsOf(steps: readonly Step[]): Map<string, Map<string, Step>> {
  const nodes = new Map<string, Map<string, Step>>();
  for (const step of steps) {
    if (step.item === "" || step.item.includes("#")) continue;
    const items = nodes.get(step.node_id) ?? new Map<string, Step>();
    nodes.set(step.node_id, items.set(step.item, step));
  }
  return nodes;
}

function summarize(steps: readonly Step[]): NodeState {
  const having = (...wanted: Step["status"][]) =>
    steps.filter(({ status }) => wanted.includes(status)).length;
  const all = count(steps.length);
  const failed = having("failed");
  const open = having("running", "waiting");
  const ports = new Set(steps.map(({ port }) => port));
  const port = ports.size === 1 ? (steps[0]?.port ?? null) : null;
  if (failed > 0)
    return {
      aspect: "red",
      label: `failed for ${count(failed)} of ${all} items`,
      note: `${count(failed)} of ${all} failed`,
      port,
      status: "failed",
    };
  if (open > 0)
    return {
      aspect: "lunar",
      label: `under way, ${count(having("done"))} items done`,
      note: `item ${all}`,
      port,
      status: "running",
    };
  if (having("done") === 0)
    return { aspect: "none", label: "skipped", note: "skipped", port, status: "skipped" };
  return {
    aspect: "green",
    label: `done for ${all} items`,
    note: `${all} ×`,
    port,
    status: "done",
  };
}
