/** Reports the ends of runs and of their steps. */
import type { ClaimedRun, RunProgress } from "../store/run-store.ts";
import type { SaveProgress } from "./progress-commit.ts";

export interface RunMetrics {
  /** `took`: milliseconds from the first start of the run to its end, including suspensions. */
  run(outcome: "succeeded" | "failed" | "cancelled", took: number): void;
  /** One attempt at a step. `type` is the type of its node. */
  step(type: string, outcome: "done" | "failed", took: number): void;
}

/** Saves the progress of a run, and reports what has ended with it. */
export function observeProgress(
  save: SaveProgress,
  { run, graph }: ClaimedRun,
  metrics: RunMetrics,
): SaveProgress {
  const types = new Map(graph.nodes.map(({ id, type }) => [id, type]));

  const report = ({ steps, next, now }: RunProgress): void => {
    for (const { node_id, status, started_at, finished_at } of steps) {
      const isAttempt = (status === "done" || status === "failed") && node_id !== run.trigger_node;
      if (isAttempt && finished_at !== null)
        metrics.step(types.get(node_id) ?? "", status, finished_at - started_at);
    }
    if (next && next.status !== "waiting" && next.status !== "queued")
      metrics.run(next.status, now - (run.started_at ?? now));
  };

  return async (progress, options) => {
    const saved = await save(progress, options);
    if (saved === "saved") report(progress);
    return saved;
  };
}
