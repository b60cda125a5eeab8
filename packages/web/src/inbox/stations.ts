/** Converts the steps of a run, and the nodes that may follow, to the stations of a track. */
import type { Flow, RunWithSteps } from "@signalbox/contract";
import { retryAt } from "../runs/waterfall.ts";
import { duration } from "../ui/format.ts";
import type { Station } from "../ui/track.tsx";

type Step = RunWithSteps["steps"][number];

const STATES: Record<Step["status"], Station["state"]> = {
  running: "now",
  waiting: "held",
  retried: "now",
  done: "done",
  failed: "failed",
  skipped: "skipped",
};

/** More stations do not fit. The page of the run shows all steps. */
const MAX_STATIONS = 6;

export function stationsOf(
  { steps, trigger_node, status }: Pick<RunWithSteps, "steps" | "trigger_node" | "status">,
  flow: Pick<Flow, "nodes" | "edges"> | undefined,
): Station[] {
  const isEnded = ["succeeded", "failed", "cancelled"].includes(status);
  const nameOf = (id: string) => flow?.nodes.find((node) => node.id === id)?.name ?? id;
  const stations = new Map<string, Station>();
  stations.set(trigger_node, { key: trigger_node, name: nameOf(trigger_node), state: "done" });
  for (const step of steps) {
    // Iterations of a loop and parts of a step are details of their node.
    if (step.item !== "" || step.status === "skipped") continue;
    // The attempt failed, but another one follows.
    const isWaiting = !isEnded && retryAt(step) !== undefined;
    stations.set(step.node_id, {
      key: step.node_id,
      name: nameOf(step.node_id),
      note: step.node_id === trigger_node ? "" : noteOf(step, isWaiting),
      state: isWaiting ? "held" : STATES[step.status],
    });
  }
  if (!isEnded && flow)
    for (const next of findNextNodes([...stations.keys()].at(-1) ?? "", flow.edges))
      if (!stations.has(next)) stations.set(next, { key: next, name: nameOf(next), state: "next" });
  const all = [...stations.values()];
  if (all.length <= MAX_STATIONS) return all;
  // Keeps the trigger, and the stations up to the one after the newest step.
  const newest = all.findLastIndex(({ state }) => state !== "next");
  const start = Math.max(1, Math.min(all.length - MAX_STATIONS + 1, newest - MAX_STATIONS + 3));
  return [...all.slice(0, 1), ...all.slice(start, start + MAX_STATIONS - 1)];
}

function noteOf(
  { status, attempt, port, started_at, finished_at }: Step,
  isWaiting: boolean,
): string {
  if (isWaiting) return `waits for attempt ${attempt + 1}`;
  if (status === "failed" || status === "running" || status === "retried")
    return attempt > 1 ? `attempt ${attempt}` : "";
  if (status === "waiting") return "waiting";
  if (port !== null && port !== "out") return port;
  return finished_at === null ? "" : duration(Date.parse(finished_at) - Date.parse(started_at));
}

/** Returns the nodes that may follow, nearest first. At each node, it follows the first edge except error edges. */
function findNextNodes(start: string, edges: Flow["edges"]): string[] {
  const nodes: string[] = [];
  let current = start;
  while (nodes.length < MAX_STATIONS) {
    const edge = edges.find(
      ({ source, sourceHandle }) => source === current && sourceHandle !== "error",
    );
    // A loop leads back to a node that is already listed.
    if (!edge || nodes.includes(edge.target)) break;
    current = edge.target;
    nodes.push(current);
  }
  return nodes;
}
