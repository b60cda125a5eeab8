/** What runs report to the metrics: when they and their steps end, what they use, and how many are queued. */

import { MAX_QUEUED } from "@signalbox/contract/queue.ts";
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

/** What the runs of this process use at this moment. */
export interface WorkerLoad {
  slots: { busy: number; total: number; waiting: number };
  /** The runs in memory: those that work, and those that wait. */
  runs: number;
  /** In bytes. Runs are claimed while less than the budget is used. */
  memory: { used: number; budget: number };
  /** The origins with open requests, and the requests that wait for the limit of the origin. */
  origins: { origin: string; open: number; waiting: number }[];
}

const MAX_ORIGINS = 10;

/** Adds up the origins with the fewest requests as the origin "other". */
export function largestOrigins(origins: WorkerLoad["origins"]): WorkerLoad["origins"] {
  const sorted = origins.toSorted((a, b) => b.open + b.waiting - a.open - a.waiting);
  const rest = sorted.splice(MAX_ORIGINS);
  const sum = (field: "open" | "waiting") => rest.reduce((total, each) => total + each[field], 0);
  return rest.length === 0
    ? sorted
    : [...sorted, { origin: "other", open: sum("open"), waiting: sum("waiting") }];
}

export interface QueuedByTenant {
  tenant: string;
  queued: number;
  /** How long the oldest run has been waiting, in milliseconds. */
  oldestMs: number;
}

/** The others are counted together, as the tenant "other". */
const MAX_TENANTS = 20;

/** The tenants whose queued runs have waited longest come first. */
export async function measureByTenant(
  store: Pick<Store, "measureQueues">,
  now: number,
): Promise<QueuedByTenant[]> {
  const tenants = new Map<string, QueuedByTenant>();
  const add = (tenant: string, queued: number, oldestMs: number) => {
    const known = tenants.get(tenant) ?? { tenant, queued: 0, oldestMs: 0 };
    known.queued += queued;
    known.oldestMs = Math.max(known.oldestMs, oldestMs);
    tenants.set(tenant, known);
  };
  for (const { tenant, queued, since } of await store.measureQueues(now, MAX_QUEUED))
    add(tenant, queued, since === null ? 0 : now - since);
  const sorted = [...tenants.values()].sort((a, b) => b.oldestMs - a.oldestMs);
  for (const { tenant, queued, oldestMs } of sorted.splice(MAX_TENANTS)) {
    tenants.delete(tenant);
    add("other", queued, oldestMs);
  }
  const other = tenants.get("other");
  return other && !sorted.includes(other) ? [...sorted, other] : sorted;
}
