/** Reports when runs and their steps end. */
import { partOf } from "@signalbox/rules/flows/step-part.ts";
import type { Store } from "../../store.ts";
import type { ClaimedRun, EndStatus, RunProgress, WrittenStep } from "./model.ts";
import type { SaveProgress } from "./progress-commit.ts";

export interface RunMetrics {
  /**
   * `took`: milliseconds from the first start of the run to its end, including suspensions; null if it
   * never started.
   */
  observeRun(outcome: EndStatus, took: number | null): void;
  /** One attempt at a step. `type` is the type of its node. */
  observeStep(type: string, outcome: "done" | "failed", took: number): void;
}

/** Reports each run that ends in a commit of this process, even if no worker executed it. */
export const observeEnds = (store: Pick<Store, "onCommit">, metrics: RunMetrics): (() => void) =>
  store.onCommit((notice) => {
    if (notice.topic === "run_ended") metrics.observeRun(notice.status, notice.took);
  });

/**
 * Returns a `save` that also reports the attempts in the saved progress that have ended, once each. The
 * steps of pinned nodes are not reported, because these nodes are not executed.
 */
export function observeSteps(
  save: SaveProgress,
  { run, graph }: ClaimedRun,
  metrics: RunMetrics,
  pinned: readonly Pick<WrittenStep, "node_id">[] = [],
): SaveProgress {
  const notExecuted = new Set([run.trigger_node, ...pinned.map(({ node_id }) => node_id)]);
  const types = new Map(graph.nodes.map(({ id, type }) => [id, type]));
  const reported = new WeakSet<WrittenStep>();

  const report = ({ steps }: RunProgress): void => {
    for (const step of steps) {
      const { node_id, status, started_at, finished_at } = step;
      const hasEnded = status === "done" || status === "failed";
      const isAttempt = hasEnded && !notExecuted.has(node_id) && partOf(step.item) === undefined;
      if (!isAttempt || finished_at === null || reported.has(step)) continue;
      reported.add(step);
      metrics.observeStep(types.get(node_id) ?? "", status, finished_at - started_at);
    }
  };

  return async (progress, options) => {
    const saved = await save(progress, options);
    if (saved === "saved") report(progress);
    return saved;
  };
}
