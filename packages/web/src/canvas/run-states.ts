/** The state of each node and edge in a run. */

import type { RunWithSteps } from "@signalbox/contract";
import { ITEM_PORT } from "@signalbox/rules/flows/node-type.ts";
import { duration } from "../ui/format.ts";
import type { Aspect } from "../ui/signal-head.tsx";

export type Step = RunWithSteps["steps"][number];

export interface NodeState {
  aspect: Aspect;
  label: string;
  /** The duration, the number of the attempt, or `skipped`. */
  note: string;
  /** The output port with which the step has ended; null if it has none. */
  port: string | null;
  status: Step["status"];
}

const SIGNALS: Record<Step["status"], { aspect: Aspect; label: string }> = {
  running: { aspect: "lunar", label: "under way" },
  waiting: { aspect: "amber", label: "waiting" },
  done: { aspect: "green", label: "done" },
  failed: { aspect: "red", label: "failed" },
  skipped: { aspect: "none", label: "skipped" },
  retried: { aspect: "amber", label: "failed, will be retried" },
};

export const signalOfStep = (status: Step["status"]) => SIGNALS[status];

export const durationOf = ({ started_at, finished_at }: Step): number | undefined =>
  finished_at === null ? undefined : Date.parse(finished_at) - Date.parse(started_at);

function noteOf(step: Step): string {
  if (step.status === "skipped") return "skipped";
  if (step.status === "running" && step.attempt > 1) return `attempt ${step.attempt}`;
  const ms = durationOf(step);
  return ms === undefined ? "" : duration(ms);
}

/** The last step of a node determines its state. Parts of a step are ignored: their `item` contains `#`. */
export function statesOf(steps: readonly Step[]): Map<string, NodeState> {
  const states = new Map<string, NodeState>();
  for (const step of steps.toSorted((a, b) => a.nth - b.nth)) {
    if (step.item.includes("#")) continue;
    states.set(step.node_id, {
      ...SIGNALS[step.status],
      note: noteOf(step),
      port: step.port,
      status: step.status,
    });
  }
  return states;
}

export type EdgeState = "done" | "run" | "skip" | undefined;

/**
 * `done` if the run has passed the edge, `run` if it executes the target now, `skip` if it has taken
 * another branch; undefined if it has not reached the edge yet.
 */
export function edgeStateOf(
  states: ReadonlyMap<string, NodeState>,
  { source, sourceHandle, target }: { source: string; sourceHandle: string; target: string },
): EdgeState {
  const from = states.get(source);
  const to = states.get(target);
  if (!from) return undefined;
  if (from.status === "skipped" || to?.status === "skipped") return "skip";
  // A loop executes the items at one port, but ends with another port.
  const isLoop = sourceHandle === ITEM_PORT && to !== undefined;
  if (from.port !== null && from.port !== sourceHandle && !isLoop) return "skip";
  if (from.status !== "done" && from.port === null && !isLoop) return undefined;
  return to?.status === "running" || to?.status === "waiting" ? "run" : to ? "done" : undefined;
}
