/** How a run went on each node. */
import type { RunWithSteps } from "../api/types.ts";
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

const durationOf = ({ started_at, finished_at }: Step): number | undefined =>
  finished_at === null ? undefined : Date.parse(finished_at) - Date.parse(started_at);

export const inWords = (ms: number): string =>
  ms < 1_000
    ? `${ms} ms`
    : ms < 60_000
      ? `${(ms / 1_000).toFixed(1)} s`
      : `${Math.round(ms / 60_000)} min`;

function noteOf(step: Step): string {
  if (step.status === "skipped") return "skipped";
  if (step.status === "running" && step.attempt > 1) return `try ${step.attempt}`;
  const ms = durationOf(step);
  return ms === undefined ? "" : inWords(ms);
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
  if (from.port !== null && from.port !== sourceHandle) return "skip";
  if (from.status !== "done" && from.port === null) return undefined;
  return to?.status === "running" || to?.status === "waiting" ? "run" : to ? "done" : undefined;
}

/** Steps that have changed replace their former selves. */
export function mergeSteps(before: readonly Step[], changed: readonly Step[]): Step[] {
  const steps = new Map(before.map((step) => [step.nth, step]));
  for (const step of changed) steps.set(step.nth, step);
  return [...steps.values()].sort((a, b) => a.nth - b.nth);
}

const RUN_LOOKS: Readonly<Record<string, { aspect: Aspect; label: string }>> = {
  queued: { aspect: "lunar", label: "queued" },
  held: { aspect: "amber", label: "held" },
  running: { aspect: "lunar", label: "under way" },
  waiting: { aspect: "amber", label: "waiting" },
  succeeded: { aspect: "green", label: "done" },
  failed: { aspect: "red", label: "failed" },
  cancelled: { aspect: "none", label: "cancelled" },
};
export const lookOfRun = (status: string) =>
  RUN_LOOKS[status] ?? { aspect: "none" as const, label: status };

export interface StepBar {
  step: Step;
  /** In percent of the run. */
  left: number;
  width: number;
  ms: number;
}

/** The steps over the time of the run. */
export function barsOf({ steps }: Pick<RunWithSteps, "steps">): StepBar[] {
  const shown = steps.filter(({ item }) => !item.includes("#"));
  const starts = shown.map(({ started_at }) => Date.parse(started_at));
  const ends = shown.map(({ finished_at, started_at }) => Date.parse(finished_at ?? started_at));
  const first = Math.min(...starts);
  const whole = Math.max(Math.max(...ends) - first, 1);
  return shown.map((step, at) => {
    const start = starts[at] ?? first;
    const ms = (ends[at] ?? start) - start;
    return {
      step,
      left: (90 * (start - first)) / whole,
      width: Math.max((90 * ms) / whole, 0.5),
      ms,
    };
  });
}
