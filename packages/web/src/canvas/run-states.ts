/** How a run went on each node. */
import { ITEM_PORT } from "@signalbox/rules/flows/node-type.ts";
import type { RunWithSteps } from "../api/types.ts";
import { duration } from "../ui/format.ts";
import type { Aspect } from "../ui/signal-head.tsx";

export type Step = RunWithSteps["steps"][number];

export interface NodeState {
  aspect: Aspect;
  label: string;
  /** Such as the duration, or the number of the attempt. */
  note: string;
  /** The port on which the run went on. */
  port: string | null;
  status: Step["status"];
}

const LOOKS: Record<Step["status"], { aspect: Aspect; label: string }> = {
  running: { aspect: "lunar", label: "under way" },
  waiting: { aspect: "amber", label: "waiting" },
  done: { aspect: "green", label: "done" },
  failed: { aspect: "red", label: "failed" },
  skipped: { aspect: "none", label: "skipped" },
  retried: { aspect: "amber", label: "failed, to be tried again" },
};

export const signalOfStep = (status: Step["status"]) => LOOKS[status];

export const durationOf = ({ started_at, finished_at }: Step): number | undefined =>
  finished_at === null ? undefined : Date.parse(finished_at) - Date.parse(started_at);

function noteOf(step: Step): string {
  if (step.status === "skipped") return "skipped";
  if (step.status === "running" && step.attempt > 1) return `try ${step.attempt}`;
  const ms = durationOf(step);
  return ms === undefined ? "" : duration(ms);
}

/** The last step of a node says how it went; parts of a step are not steps of their own here. */
export function statesOf(steps: readonly Step[]): Map<string, NodeState> {
  const states = new Map<string, NodeState>();
  for (const step of steps.toSorted((a, b) => a.nth - b.nth)) {
    if (step.item.includes("#")) continue;
    states.set(step.node_id, {
      ...LOOKS[step.status],
      note: noteOf(step),
      port: step.port,
      status: step.status,
    });
  }
  return states;
}

export type EdgeState = "done" | "run" | "skip" | undefined;

/** How a run used an edge. */
export function edgeStateOf(
  states: ReadonlyMap<string, NodeState>,
  { source, sourceHandle, target }: { source: string; sourceHandle: string; target: string },
): EdgeState {
  const from = states.get(source);
  const to = states.get(target);
  if (!from) return undefined;
  if (from.status === "skipped" || to?.status === "skipped") return "skip";
  // A loop goes on at another port in the end.
  const isLoop = sourceHandle === ITEM_PORT && to !== undefined;
  if (from.port !== null && from.port !== sourceHandle && !isLoop) return "skip";
  if (from.status !== "done" && from.port === null && !isLoop) return undefined;
  return to?.status === "running" || to?.status === "waiting" ? "run" : to ? "done" : undefined;
}
